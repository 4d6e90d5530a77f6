"""How long a query is away when its driver has died, by the size of its state and the batches since its checkpoint."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from snapline_bench import cpu, incremental, provider
from snapline_bench.events import FIRST_TIME, UpdateEvents, prepare, update_table, write_batch
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import CHANGELOG, OURS, STORE, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, summary

# Changelogs go to storage behind the batches.
UPLOADS = f"{OURS}-uploads-20"
LAGS = {f"{OURS}-0": 0, f"{OURS}-5": 5, f"{OURS}-20": 20, UPLOADS: 20, "changelog-0": 0, "changelog-20": 20}
NAMES = tuple(LAGS)
SNAPSHOTS = f"{STORE}.minDeltasForSnapshot"


@dataclass(frozen=True)
class Sizes:
    """`keys`: sizes of the state. `changed`: keys that a batch gives a new value, after the first has given all one."""

    keys: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    changed: int = 1_000
    warm_up: int = 2_000
    memory: str = "4g"

    def events(self, keys: int) -> UpdateEvents:
        return UpdateEvents(keys, self.changed, 1 + max(LAGS.values()))


QUICK = Sizes(keys=(10_000, 20_000, 40_000))
REPS = 1
COLUMNS = ("small", "middle", "large")
FIGURES = {
    **{f"{column}_ms": f"{column} state, ms" for column in COLUMNS},
    **{f"{column}_cpu_s": f"{column} state, CPU s" for column in COLUMNS},
    "others": "other load, cores",
}
GOALS = [
    Goal(f"{column}_{unit}", Part.WHOLE, f"changelog-{lag}", None, f"{OURS}-{lag}")
    for unit in ("ms", "cpu_s")
    for lag in (0, 20)
    for column in COLUMNS
] + [
    Goal(f"{column}_{unit}", Part.WHOLE, "changelog-20", 1.5 if unit == "ms" else None, UPLOADS)
    for unit in ("ms", "cpu_s")
    for column in COLUMNS
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    found = provider.find_snapline_jar(jar)
    chosen = []
    for name in names:
        if not name.startswith(OURS):
            chosen.append(replace(CHANGELOG, name=name))
        elif found is not None:
            ours = {**provider.COORDINATED, **settings}
            chosen.append(replace(provider.snapline_provider(found, ours), name=name))
    return chosen


def measure(job: Job) -> Result:
    sizes = Sizes(**{**job.sizes, "keys": tuple(job.sizes["keys"])})
    # A process of its own, which has ended: nothing of the state is on an executor any more.
    builder = get_context("fork").Process(target=_build, args=(job, sizes))
    builder.start()
    builder.join()
    assert builder.exitcode == 0, "the state to recover was not built"

    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="24h", memory=sizes.memory)
    # Once on a small state first: after it, Spark's own start-up (classes, code generation, native library) is over.
    _recover(spark, job, sizes, sizes.warm_up)
    before = cpu.read()
    times, batches = {}, []
    for column, keys in zip(COLUMNS, sizes.keys, strict=True):
        elapsed, batch = _recover(spark, job, sizes, keys)
        times |= {f"{column}_ms": elapsed.elapsed_s * 1e3, f"{column}_cpu_s": elapsed.cpu_s}
        batches.append(batch)
    usage = cpu.read().since(before)
    spark.stop()
    return {"figures": {**times, "others": usage.others}, "batches": batches, "sizes": asdict(sizes)}


def _build(job: Job, sizes: Sizes) -> None:
    """A checkpoint folder for each size: all keys in the first batch, and as many batches after it as the lag is."""
    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="1s", memory=sizes.memory)
    for keys in (sizes.warm_up, *sizes.keys):
        batches = prepare(sizes.events(keys), job.data)
        stream = _stream(spark, job, keys)
        stream.land(batches[:1])
        if not job.provider.name.startswith(OURS):
            # Else Spark keeps the first ten batches as changes only.
            spark.conf.set(SNAPSHOTS, 1)
        stream.start(_starter(job))
        stream.drain()
        _wait(lambda: _stored(job, keys))  # noqa: B023
        if not job.provider.name.startswith(OURS):
            stream.stop()
            spark.conf.unset(SNAPSHOTS)
            stream.start()
        for batch in batches[1 : 1 + LAGS[job.provider.name]]:
            stream.land([batch])
            stream.drain()
        stream.stop()
    spark.stop()


def _recover(spark: SparkSession, job: Job, sizes: Sizes, keys: int) -> tuple[cpu.Usage, dict[str, Any]]:
    """From the start until the first new batch is through."""
    draw = random.Random(7)
    new = job.scratch / f"new-{keys}"
    write_batch(update_table(draw.sample(range(keys), sizes.changed), 1_000, 100, draw), new, FIRST_TIME + 1_000)
    stream = _stream(spark, job, keys)
    stream.land([new])
    before = cpu.read()
    stream.start(_starter(job))
    progress = stream.drain()
    usage = cpu.read().since(before)
    stream.stop()
    assert len(progress) == 1, f"{len(progress)} batches instead of one"
    batch = summary(progress[0])
    assert batch["batch"] == 1 + LAGS[job.provider.name], batch
    incremental.check_keys(job.provider, batch, keys)
    return usage, batch


def _stream(spark: SparkSession, job: Job, keys: int) -> Stream:
    return Stream(spark, incremental.WORKLOAD, job.scratch / str(keys), _checkpoint(job, keys), goes_on=True)


def _checkpoint(job: Job, keys: int) -> Path:
    return job.scratch / f"checkpoint-{keys}"


def _starter(job: Job) -> Callable[[Any], Any] | None:
    if not job.provider.name.startswith(OURS):
        return None
    import snapline

    # The first batch of a run is a barrier, and none that follows.
    config = snapline.CheckpointConfig(interval=timedelta(hours=1), upload_changelogs=job.provider.name == UPLOADS)
    return lambda writer: snapline.start(writer, config)


def _stored(job: Job, keys: int) -> bool:
    """Whether the state of the first batch is where a start loads all of it from: not out of changes since."""
    if job.provider.name.startswith(OURS):
        return any(_checkpoint(job, keys).glob("snapline/chk-*/_metadata"))
    return len(list(_checkpoint(job, keys).glob("state/0/*/*.zip"))) >= 2


def _wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the state was not stored in time"
        time.sleep(0.05)
