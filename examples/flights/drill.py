"""Runs the Spark job, kills it in the middle of its work, and runs the same command again to the end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from process import JobProcess
from progress import Progress, QueryProgress
from watch import Watch

KILL_AT = 0.45
"""The part of all rows after which Spark is killed."""

_POLL_SECONDS = 0.2


class JobFailed(Exception):
    """The job has not ended as it should have; the message holds its errors, and the end of what it printed."""

    def __init__(self, what: str, log: Path) -> None:
        lines = log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if re.match(r"\S.*(Error|Exception)\b", line)][:20]
        super().__init__(
            "\n".join([what, "errors, the first ones first:", *errors, "the end of its log:", *lines[-30:]])
        )


@dataclass(frozen=True)
class Drill:
    """`command` is what job.py is given, but for the file that it reports its progress to: each run has its own."""

    command: list[str]
    work: Path
    progress: Progress
    watch: Watch

    def run_and_kill(self) -> None:
        """Kills the job once it has processed enough, whatever it is doing at that moment."""
        with self._job("first") as job:
            while job.running and not self._far_enough():
                self._look()
            if not job.running:
                raise JobFailed(f"the first run ended by itself with status {job.wait()}, before the kill", job.log)
            status = job.kill()
        self.watch.event(f"[bold red]killed[/] with SIGKILL: process group {job.group} is gone, status {status}")
        self.progress.read()
        for query in self.progress.queries.values():
            self.watch.event(f"  {query.name}: {self._damage(query)}")

    def run_to_end(self) -> None:
        """Starts the same command again. It must find its own way back."""
        with self._job("second") as job:
            told = False
            while job.running:
                self._look()
                if not told and len(self.progress.first_batches) == len(self.progress.queries):
                    told = True
                    taken_up = ", ".join(f"{name} {batch}" for name, batch in self.progress.first_batches.items())
                    self.watch.event(f"  first batches of this run: {taken_up}")
            status = job.wait()
            self._look()
        if status != 0:
            raise JobFailed(f"the second run ended with status {status}", job.log)
        self.watch.event(f"the second run has ended by itself, status {status}")

    @contextmanager
    def _job(self, run: str) -> Iterator[JobProcess]:
        """No process outlives this, whatever happens in between: an interrupt of the demo does not reach the job."""
        reports = self.work / f"progress-{run}.jsonl"
        self.progress.follow(reports)
        job = JobProcess([*self.command, "--progress", str(reports)], self.work / f"job-{run}.log")
        self.watch.event(f"{run} run: Spark starts as process group {job.group}")
        try:
            yield job
        finally:
            job.kill()

    def _look(self) -> None:
        time.sleep(_POLL_SECONDS)
        self.progress.read()
        self.watch.update()

    def _far_enough(self) -> bool:
        return self.progress.all_started and self.progress.done >= KILL_AT

    def _damage(self, query: QueryProgress) -> str:
        """What the kill has done to the query, by Spark's own logs in its checkpoint."""
        begun, finished = (
            {int(file.name) for file in (self.work / "checkpoints" / query.name / log).glob("[0-9]*")}
            for log in ("offsets", "commits")
        )
        newest = max(begun)
        damage = [f"batch {newest} was " + ("committed" if newest in finished else "cut short")]
        # Reports are sent a moment after the commit; the rows of a lost one are missing from the numbers shown.
        damage += [f"the report of batch {batch} is lost" for batch in sorted(finished - query.reports.keys())]
        return ", ".join(damage)
