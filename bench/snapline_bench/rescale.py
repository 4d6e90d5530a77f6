"""Another number of partitions for a state: Snapline's rescaling beside Spark's own offline repartition."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from snapline_bench import cpu, incremental, provider
from snapline_bench.events import UpdateEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream

NAMES = (provider.ROCKSDB.name, OURS)


@dataclass(frozen=True)
class Sizes:
    """
    `payload`: bytes of a value, and `large` those of a second state, of `few` keys, which stands beside one of as many
    keys with the others; `changed`: keys that each of `batches` after the load
    changes, enough of them for a snapshot in the background; `warm_up`: keys of the state that is rescaled first, so
    that classes are loaded and code is compiled.
    """

    keys: int = 1_000_000
    payload: int = 100
    few: int = 200_000
    large: int = 1_000
    changed: int = 10_000
    batches: int = 11
    warm_up: int = 50_000
    before: int = 4
    after: int = 8
    memory: str = "4g"

    def events(self, keys: int, payload: int) -> UpdateEvents:
        return UpdateEvents(keys, min(self.changed, keys // 10), 1 + self.batches, payload)


QUICK = Sizes(keys=200_000, few=50_000, changed=2_000, warm_up=20_000)
REPS = 1
FIGURES = {
    "wider_s": "4 -> 8, s",
    "wider_cpu_s": "CPU s",
    "narrower_s": "8 -> 4, s",
    "small_s": "4 -> 8, few keys, s",
    "large_s": "with large values, s",
    "growth": "large / small values",
    "others": "other load, cores",
}
GOALS = [
    Goal("wider_s", Part.WHOLE, provider.ROCKSDB.name, 0.1),
    Goal("wider_cpu_s", Part.WHOLE, provider.ROCKSDB.name, 0.1),
    Goal("narrower_s", Part.WHOLE, provider.ROCKSDB.name, 0.1),
    Goal("large_s", Part.WHOLE, provider.ROCKSDB.name, 0.1),
    # Values ten times as long.
    Goal("growth", Part.ABSOLUTE, "", 1.2),
]

# Takes a checkpoint, a folder for another one and a parallelism; returns where the state of that parallelism is.
Rescale = Callable[[Path, Path, int], Path]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="24h", memory=sizes.memory)
    rescale = of_snapline(spark) if job.provider.name == OURS else of_spark(spark)
    small = prepared(spark, job, sizes, sizes.warm_up, sizes.payload)
    for step, partitions in enumerate((sizes.after, sizes.before) * 2):
        small = rescale(small, job.scratch / f"warm-{step}", partitions)
    checkpoint = prepared(spark, job, sizes, sizes.keys, sizes.payload)
    before = cpu.read()
    wide, wider_s = timed(rescale, checkpoint, job.scratch / "wide", sizes.after)
    usage = cpu.read().since(before)
    check_rows(spark, job.provider, wide, sizes.keys)
    narrow, narrower_s = timed(rescale, wide, job.scratch / "narrow", sizes.before)
    check_rows(spark, job.provider, narrow, sizes.keys)
    of_values = {}
    for payload in (sizes.payload, sizes.large):
        checkpoint = prepared(spark, job, sizes, sizes.few, payload)
        wide, of_values[payload] = timed(rescale, checkpoint, job.scratch / f"wide-{payload}", sizes.after)
        check_rows(spark, job.provider, wide, sizes.few)
    spark.stop()
    return {
        "figures": {
            "wider_s": wider_s,
            "wider_cpu_s": usage.cpu_s,
            "narrower_s": narrower_s,
            "small_s": of_values[sizes.payload],
            "large_s": of_values[sizes.large],
            "growth": of_values[sizes.large] / of_values[sizes.payload],
            "others": usage.others,
        }
    }


def prepared(spark: SparkSession, job: Job, sizes: Sizes, keys: int, payload: int) -> Path:
    """A checkpoint with that state."""
    batches = prepare(sizes.events(keys, payload), job.data)
    folder = job.scratch / f"{keys}-{payload}"
    spark.conf.set("spark.sql.shuffle.partitions", str(sizes.before))
    stream = Stream(spark, incremental.WORKLOAD, folder, folder / "checkpoint")
    stream.start()
    for batch in batches:
        stream.land([batch])
        stream.drain()
    if job.provider.name == OURS:
        await_snapshots(folder / "checkpoint", sizes.before)
    stream.stop()
    return folder / "checkpoint"


def await_snapshots(checkpoint: Path, partitions: int) -> None:
    """A query that runs for long has one in each store; this one would be stopped while they are made."""
    deadline = time.monotonic() + 60
    while len({path.parent for path in checkpoint.glob("state/0/*/*.handle")}) < partitions:
        if time.monotonic() > deadline:
            raise AssertionError(f"{checkpoint} has no snapshots")
        time.sleep(0.5)


def timed(rescale: Rescale, checkpoint: Path, to: Path, partitions: int) -> tuple[Path, float]:
    begun = time.monotonic()
    made = rescale(checkpoint, to, partitions)
    return made, time.monotonic() - begun


def of_snapline(spark: SparkSession) -> Rescale:
    import snapline

    def run(checkpoint: Path, to: Path, partitions: int) -> Path:
        snapline.rescale_checkpoint(spark, str(checkpoint), str(to), parallelism=partitions)
        return to

    return run


def of_spark(spark: SparkSession) -> Rescale:
    """In the same folder, as a batch of its own. Spark has no other way to it than the class that does it."""
    assert spark._jvm is not None
    runner = spark._jvm.org.apache.spark.sql.execution.streaming.state.OfflineStateRepartitionRunner

    def run(checkpoint: Path, to: Path, partitions: int) -> Path:
        runner(spark._jsparkSession, str(checkpoint), partitions, True).run()
        return checkpoint

    return run


def check_rows(spark: SparkSession, of: Provider, checkpoint: Path, keys: int) -> None:
    """A state that has lost keys has no time worth measuring."""
    found = spark.read.format("statestore").load(str(checkpoint)).count()
    if found != keys:
        raise AssertionError(f"{of.name} has {found} keys in {checkpoint} instead of {keys}")
