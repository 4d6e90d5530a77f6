"""From one partition to 1,000 and from 10^4 keys to 10^7 on this machine, and what a fitted model says of a cluster."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from snapline_bench import cpu
from snapline_bench.events import LoadedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.model import LOCAL, Batch, Measured, Model, fit, residuals, typical
from snapline_bench.provider import CHANGELOG, OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.slow import EVERY
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import SUMS, Stream, summary

NAMES = (OURS, EVERY, CHANGELOG.name)
TITLES = {OURS: "Snapline, checkpoints at an interval", EVERY: "Snapline, every batch durable"}


@dataclass(frozen=True)
class Place:
    """A point to measure. `checkpoint`: one is taken of every batch. `held_out`: the model has not seen it."""

    partitions: int
    keys: int
    rows: int
    checkpoint: bool = False
    held_out: bool = False

    def name(self) -> str:
        return f"{self.partitions}-{self.keys}-{self.rows}-{self.checkpoint:d}"


@dataclass(frozen=True)
class Sizes:
    """From the place `partitions`[1], `keys`[1], `rows`[0], one of the three is varied. Batches come one by one."""

    partitions: tuple[int, ...] = (1, 10, 100, 1_000)
    keys: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    rows: tuple[int, ...] = (20_000, 200_000)
    held_out: tuple[int, int, int] = (30, 300_000, 60_000)
    warm_up: int = 3
    batches: int = 5
    memory: str = "4g"

    def places(self, checkpoints: bool) -> list[Place]:
        middle = Place(self.partitions[1], self.keys[1], self.rows[0])
        found = [replace(middle, partitions=partitions) for partitions in self.partitions]
        found += [replace(middle, keys=keys) for keys in self.keys]
        # Many rows of few keys, and many of many: a row and a key that changes are told apart.
        found += [replace(middle, keys=keys, rows=rows) for rows in self.rows[1:] for keys in self.keys[:2]]
        if checkpoints:
            found += [replace(middle, partitions=partitions, checkpoint=True) for partitions in self.partitions[1:]]
        return [*dict.fromkeys(found), Place(*self.held_out, held_out=True)]


QUICK = Sizes(partitions=(1, 10, 100), keys=(10_000, 100_000, 1_000_000), warm_up=2, batches=3)
REPS = 1
CONSTANTS = {
    "batch": "a batch, driver, ms",
    "partition": "a partition, driver, ms",
    "input": "a task that reads, ms",
    "input_partition": "and writes for a partition, ms",
    "row": "a row, us",
    "task": "a partition, its task, ms",
    "changed": "a changed key, us",
    "checkpoint": "a checkpoint, a partition, ms",
}
MICROS = {"row", "changed"}
FIGURES = {
    **CONSTANTS,
    "upload": "checkpoint complete after, ms a partition",
    "residual": "model off by, median",
    "held_out": "off at the held-out point",
    "others": "other load, cores",
}
GOALS = [
    *(Goal(name, Part.WHOLE, CHANGELOG.name, None) for name in ("batch", "task", "changed")),
    *(Goal(name, Part.WHOLE, CHANGELOG.name, None, EVERY) for name in ("batch", "task", "changed")),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    ours = sessions([name for name in names if name in TITLES], TITLES, jar, settings)
    known = {each.name: each for each in (*ours, CHANGELOG)}
    return [known[name] for name in names if name in known]


def measure(job: Job) -> Result:
    sizes = Sizes(**{name: tuple(each) if isinstance(each, list) else each for name, each in job.sizes.items()})
    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="60s", memory=sizes.memory)
    times = _jvm(spark).io.snapline.bench.TaskTimes
    times.install(spark.sparkContext._jsc.sc())
    places = sizes.places(checkpoints=job.provider.name == OURS)
    # Once for nothing: after it, Spark's own start-up (classes, code generation, native library) is over.
    _measure(spark, times, job, sizes, places[1])
    before = cpu.read()
    found = []
    for place in places:
        found.append((place, *_measure(spark, times, job, sizes, place)))
        print(place, found[-1][1:], flush=True)
    usage = cpu.read().since(before)
    spark.stop()
    seen = [point for place, point, _ in found if not place.held_out]
    model = fit(seen)
    uploads = [done / place.partitions for place, _, done in found if done is not None]
    (held_out,) = (point for place, point, _ in found if place.held_out)
    return {
        "figures": {
            **{name: value * (1e3 if name in MICROS else 1) for name, value in model.constants().items()},
            "upload": median(uploads) if uploads else float("nan"),
            "residual": typical(residuals(model, seen)),
            "held_out": residuals(model, [held_out])[0],
            "others": usage.others,
        },
        "batches": [],
        "model": model.constants(),
        "points": [drawn(place, point, model, sizes) for place, point, _ in found],
    }


def drawn(place: Place, point: Measured, model: Model, sizes: Sizes) -> dict[str, Any]:
    """`along`: the axes on which it lies, all else being as in the middle."""
    middle = Place(sizes.partitions[1], sizes.keys[1], sizes.rows[0])
    along = [axis for axis in ("partitions", "keys") if replace(place, **{axis: getattr(middle, axis)}) == middle]
    return {
        **asdict(place),
        "changed": point.batch.changed,
        "wall_ms": point.wall_ms,
        "input_ms": point.input_ms,
        "state_ms": point.state_ms,
        "model_ms": model.wall_ms(point.batch),
        "along": along,
    }


def _measure(spark: SparkSession, times: Any, job: Job, sizes: Sizes, place: Place) -> tuple[Measured, float | None]:
    """The median batch there, and how long after it its checkpoint was complete, if one was to be taken."""
    events = LoadedEvents(place.keys, place.rows, sizes.warm_up + sizes.batches)
    batches = prepare(events, job.data)
    folder = job.scratch / place.name()
    spark.conf.set("spark.sql.shuffle.partitions", place.partitions)
    stream = Stream(spark, SUMS, folder, folder / "checkpoint")
    stream.start(_starter(place.checkpoint) if job.provider.name == OURS else None)
    for batch in batches[: events.loads + sizes.warm_up]:
        stream.land([batch])
        stream.drain()
        if place.checkpoint:
            _complete(stream, 0)
    tasks = LOCAL.inputs + place.partitions
    walls, inputs, states, changed, uploads = [], [], [], [], []
    for batch in batches[events.loads + sizes.warm_up :]:
        done = _completed(stream) if place.checkpoint else 0
        times.take()
        stream.land([batch])
        (progress,) = stream.drain()
        if place.checkpoint:
            uploads.append(_complete(stream, done))
        _wait(lambda: times.count() >= tasks)
        of_batch = summary(progress)
        assert of_batch["state_rows"] == place.keys, f"{of_batch['state_rows']} keys instead of {place.keys}"
        of_input, of_state = times.take()
        walls.append(of_batch["wall_ms"])
        inputs.append(of_input)
        states.append(of_state)
        changed.append(of_batch["updated_rows"])
    stream.stop()
    # Its stores would stay open, and take memory and descriptors from those of the next.
    _jvm(spark).io.snapline.bench.StoreMaintenance.unload()
    shutil.rmtree(folder)
    at = Batch(place.partitions, place.rows, median(changed), place.checkpoint)
    return Measured(at, median(walls), median(inputs), median(states)), median(uploads) if uploads else None


def _jvm(spark: SparkSession) -> Any:
    return spark._jvm


def _starter(checkpoint: bool) -> Callable[[Any], Any]:
    import snapline

    interval = timedelta(milliseconds=10) if checkpoint else timedelta(hours=1)
    # A batch that comes upon the checkpoint of the one before is no failure.
    config = snapline.CheckpointConfig(interval=interval, tolerable_failed_checkpoints=1_000)
    return lambda writer: snapline.start(writer, config)


def _completed(stream: Stream) -> int:
    query: Any = stream.query
    return int(query.checkpoints()["counts"]["completed"])


def _complete(stream: Stream, before: int) -> float:
    """Milliseconds until there is one more."""
    begun = time.monotonic()
    _wait(lambda: _completed(stream) > before)
    return (time.monotonic() - begun) * 1e3


def _wait(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
