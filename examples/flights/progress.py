"""What the running job has reported so far, per query, across the kill."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class QueryProgress:
    """The reports of one query by batch number: a batch that is run again after the kill replaces its first report."""

    name: str
    total_rows: int
    reports: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def batches(self) -> int:
        """How many batches there have been. A kill can swallow the report of one that was committed just before."""
        return max(self.reports, default=-1) + 1

    @property
    def rows(self) -> int:
        """As far as reported."""
        return sum(int(report["numInputRows"]) for report in self.reports.values())

    @property
    def rows_per_second(self) -> float:
        """Over all batches: the time between them does not count."""
        milliseconds = sum(int(report["batchDuration"]) for report in self.reports.values())
        return 1000 * self.rows / max(1, milliseconds)

    @property
    def commit_ms(self) -> float:
        """The mean over all batches of what the state stores took to commit, all partitions added up."""
        return self._sum("commitTimeMs", list(self.reports.values())) / max(1, len(self.reports))

    @property
    def state_rows(self) -> int:
        return self._sum("numRowsTotal", self._newest())

    @property
    def state_bytes(self) -> int:
        return self._sum("memoryUsedBytes", self._newest())

    def _newest(self) -> list[dict[str, Any]]:
        return [self.reports[max(self.reports)]] if self.reports else []

    @staticmethod
    def _sum(metric: str, reports: list[dict[str, Any]]) -> int:
        return sum(operator[metric] for report in reports for operator in report["stateOperators"])


class Progress:
    """Follows the files that the runs of the job write, one file a run."""

    def __init__(self, total_rows: dict[str, int]) -> None:
        self.queries = {name: QueryProgress(name, rows) for name, rows in total_rows.items()}
        self.first_batches: dict[str, int] = {}
        """The first batch of the present run that each query has reported."""
        self._file: Path | None = None
        self._at = 0

    def follow(self, file: Path) -> None:
        self._file, self._at, self.first_batches = file, 0, {}

    def read(self) -> None:
        """Takes in what has been added; a line whose end is not there yet is left for the next time, or for ever."""
        if self._file is None or not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._at)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._at += len(whole) + len(newline)
        for line in whole.splitlines():
            report = json.loads(line)
            self.queries[report["name"]].reports[report["batchId"]] = report
            self.first_batches.setdefault(report["name"], report["batchId"])

    @property
    def done(self) -> float:
        """The part of all rows that has been processed."""
        return sum(query.rows for query in self.queries.values()) / sum(q.total_rows for q in self.queries.values())

    @property
    def all_started(self) -> bool:
        return all(query.batches for query in self.queries.values())
