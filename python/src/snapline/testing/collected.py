"""The output of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapline.functions.output_tag import OutputTag
from snapline.state.row import Row, row_maker
from snapline.stream.planning import ProcessPlan
from snapline.testing.exchange import BatchResult
from snapline.worker.decode import decoder
from snapline.worker.encode import transpose


class Collected:
    """Rows of the result and of the side outputs, and metrics, of all micro-batches so far."""

    def __init__(self, plan: ProcessPlan) -> None:
        self.rows: list[Row] = []
        self.sides: dict[str, list[Row]] = {tag: [] for tag in plan.sides}
        self.metrics: dict[str, float] = {}
        self._width = len(plan.job.columns)
        self._make = row_maker(plan.job.columns)

    def add(self, result: BatchResult) -> list[Row]:
        """Takes what a micro-batch gave; the rows of the result among it."""
        for name, value in result.metrics.items():
            self.metrics[name] = self.metrics.get(name, 0) + value
        before = len(self.rows)
        for batch in result.output:
            columns = [decoder(field.type)(batch.column(i)) for i, field in enumerate(batch.schema)]
            for row in zip(*columns, strict=True):
                sides = dict(zip(self.sides, row[self._width :], strict=True))
                emitted = {name: value for name, value in sides.items() if value is not None}
                for name, value in emitted.items():
                    self.sides[name].append(value)
                if not emitted:
                    self.rows.append(self._make(row[: self._width]))
        return self.rows[before:]

    def side(self, tag: OutputTag | str) -> list[Row]:
        """All rows of a side output so far."""
        return list(self.sides[tag.name if isinstance(tag, OutputTag) else tag])


def as_tuples(rows: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Rows of any kind as tuples in the order of the schema."""
    return list(zip(*transpose(rows, names), strict=True)) if rows else []
