"""What a micro-batch takes, as a sum of a few parts, each with a constant that is fitted to what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import median

import numpy as np


@dataclass(frozen=True)
class Batch:
    """`changed`: keys whose state is written. `checkpoint`: whether a checkpoint is taken of it."""

    partitions: int
    rows: float
    changed: float
    checkpoint: bool = False


@dataclass(frozen=True)
class Cores:
    """`inputs`: tasks that read the batch's rows."""

    slots: int
    inputs: int


LOCAL = Cores(2, 2)


@dataclass(frozen=True)
class Measured:
    """`input_ms`, `state_ms`: how long tasks held a core, summed over those that read and those that keep state."""

    batch: Batch
    wall_ms: float
    input_ms: float
    state_ms: float


@dataclass(frozen=True)
class Model:
    """Constants in milliseconds. What is the driver's own, no core more makes shorter; the rest tasks share.

    Attributes:
        batch: the driver's, for each batch.
        partition: the driver's, for each partition's task.
        input: of a task that reads.
        input_partition: of such a task, for each partition it writes for.
        row: of a row that is read.
        task: of a partition's task, with opening and committing its store.
        changed: of a key that changes.
        checkpoint: of a partition's task when a checkpoint is taken.
    """

    batch: float
    partition: float
    input: float
    input_partition: float
    row: float
    task: float
    changed: float
    checkpoint: float

    def wall_ms(self, of: Batch, on: Cores = LOCAL) -> float:
        return self.driver_ms(of) + self.input_ms(of, on) / min(on.slots, on.inputs) + self._states(of, on)

    def driver_ms(self, of: Batch) -> float:
        return self.batch + self.partition * of.partitions

    def input_ms(self, of: Batch, on: Cores = LOCAL) -> float:
        return on.inputs * (self.input + self.input_partition * of.partitions) + self.row * of.rows

    def state_ms(self, of: Batch) -> float:
        checkpoint = self.checkpoint if of.checkpoint else 0.0
        return (self.task + checkpoint) * of.partitions + self.changed * of.changed

    def _states(self, of: Batch, on: Cores) -> float:
        """In rounds of as many tasks as there are slots."""
        return self.state_ms(of) * ceil(of.partitions / on.slots) / of.partitions

    def constants(self) -> dict[str, float]:
        return asdict(self)


def fit(points: Sequence[Measured]) -> Model:
    """Relative errors count alike: the largest batch does not decide alone. No part may be less than nothing."""
    of = [point.batch for point in points]
    reading = _least_squares(
        [[LOCAL.inputs, LOCAL.inputs * each.partitions, each.rows] for each in of], [p.input_ms for p in points]
    )
    keeping = _least_squares(
        [[each.partitions, each.changed, each.partitions * each.checkpoint] for each in of],
        [p.state_ms for p in points],
    )
    rest = [
        point.wall_ms
        - point.input_ms / LOCAL.slots
        - point.state_ms * ceil(point.batch.partitions / LOCAL.slots) / point.batch.partitions
        for point in points
    ]
    driving = _least_squares([[1, each.partitions] for each in of], rest, [p.wall_ms for p in points])
    return Model(*driving, *reading, *keeping)


def _least_squares(
    columns: Sequence[Sequence[float]], values: Sequence[float], scale: Sequence[float] | None = None
) -> list[float]:
    """Constants of the columns, for the least errors relative to `scale`; without one, to what they themselves make of
    it, found in a few rounds: relative to what was measured, whatever was too slow by chance would count less."""
    table, wanted = np.array(columns, float), np.array(values, float)
    weights = 1 / np.maximum(wanted if scale is None else np.array(scale, float), 1.0)
    found = _not_negative(table * weights[:, None], wanted * weights)
    for _ in range(ROUNDS if scale is None else 0):
        weights = 1 / np.maximum(table @ found, 1.0)
        found = _not_negative(table * weights[:, None], wanted * weights)
    return found.tolist()


ROUNDS = 5


def _not_negative(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Whatever comes out negative is taken out, the most negative first, and is 0."""
    # A column without an entry has no constant; columns of one size make the solution exact.
    sizes = np.abs(table).max(axis=0)
    kept = [index for index, size in enumerate(sizes) if size > 0]
    found = np.zeros(table.shape[1])
    while kept:
        solved = np.linalg.lstsq(table[:, kept] / sizes[kept], wanted, rcond=None)[0] / sizes[kept]
        if solved.min() >= 0:
            found[kept] = solved
            break
        kept.pop(int(np.argmin(solved * sizes[kept])))
    return found


def residuals(model: Model, points: Sequence[Measured]) -> list[float]:
    """How far the model is off, relative to what was measured."""
    return [model.wall_ms(point.batch) / point.wall_ms - 1 for point in points]


def typical(errors: Sequence[float]) -> float:
    return median(map(abs, errors))
