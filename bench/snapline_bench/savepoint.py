"""A canonical savepoint beside a plain Parquet write of the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from snapline_bench import cpu, incremental
from snapline_bench.events import UpdateEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.rescale import await_snapshots
from snapline_bench.session import PARTITIONS, open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import Stream

NAMES = (OURS,)
TITLES = {OURS: "Snapline, RocksDB"}


@dataclass(frozen=True)
class Sizes:
    """
    `payload`: bytes of a value; `changed`: keys that each of `batches` after the load changes, enough of them for a
    snapshot in the background; `turns`: each.
    """

    keys: int = 1_000_000
    payload: int = 100
    changed: int = 10_000
    batches: int = 11
    turns: int = 5
    memory: str = "4g"

    def events(self) -> UpdateEvents:
        return UpdateEvents(self.keys, self.changed, 1 + self.batches, self.payload)


QUICK = Sizes(keys=100_000, changed=1_000, turns=2)
REPS = 1
FIGURES = {
    "savepoint_s": "savepoint, s",
    "savepoint_mb_s": "MB / s",
    "plain_s": "plain write, s",
    "plain_mb_s": "plain, MB / s",
    "ratio": "savepoint / plain",
    "cpu_ratio": "CPU, savepoint / plain",
    "parquet_mb": "Parquet, MB",
    "others": "other load, cores",
}
GOALS = [Goal("ratio", Part.ABSOLUTE, "", 2.0)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def measure(job: Job) -> Result:
    import snapline

    sizes = Sizes(**job.sizes)
    batches = prepare(sizes.events(), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="24h", memory=sizes.memory)
    checkpoint = job.scratch / "checkpoint"
    stream = Stream(spark, incremental.WORKLOAD, job.scratch, checkpoint)
    stream.start()
    for batch in batches:
        stream.land([batch])
        stream.drain()
    await_snapshots(checkpoint, PARTITIONS)
    stream.stop()
    # The same rows, from memory: what is left is to write them.
    rows = snapline.read_state(str(checkpoint), session=spark).persist()
    if rows.count() != sizes.keys:
        raise AssertionError(f"the state has {rows.count()} keys instead of {sizes.keys}")

    def savepoint(to: Path) -> None:
        snapline.create_savepoint(spark, str(checkpoint), str(to))

    def plain(to: Path) -> None:
        rows.write.option("compression", "zstd").parquet(str(to))

    before = cpu.read()
    # The first of each compiles code and loads classes. In turns, so that other load falls on both.
    turns = [
        [timed(act, job.scratch / f"{name}-{turn}") for name, act in (("savepoint", savepoint), ("plain", plain))]
        for turn in range(sizes.turns + 1)
    ][1:]
    others = cpu.read().since(before).others
    (taken, taken_cpu), (wrote, wrote_cpu) = (
        (median(turn[at][0] for turn in turns), median(turn[at][1] for turn in turns)) for at in (0, 1)
    )
    parquet = sum(file.stat().st_size for file in (job.scratch / "savepoint-1").rglob("*.parquet")) / 1e6
    spark.stop()
    return {
        "figures": {
            "savepoint_s": taken,
            "savepoint_mb_s": parquet / taken,
            "plain_s": wrote,
            "plain_mb_s": parquet / wrote,
            "ratio": median(turn[0][0] / turn[1][0] for turn in turns),
            "cpu_ratio": taken_cpu / wrote_cpu,
            "parquet_mb": parquet,
            "others": others,
        },
        "batches": [{"savepoint": turn[0], "plain": turn[1]} for turn in turns],
    }


def timed(act: Callable[[Path], None], to: Path) -> tuple[float, float]:
    """Seconds on the clock, and of CPU."""
    before, begun = cpu.read(), time.monotonic()
    act(to)
    return time.monotonic() - begun, cpu.read().since(before).cpu_s
