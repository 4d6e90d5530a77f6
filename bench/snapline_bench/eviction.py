"""Small micro-batches beside a large state of which the watermark removes as much as comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from snapline_bench import cpu, local_files, provider, venv
from snapline_bench.events import TimedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.nulljar import compiled
from snapline_bench.provider import CHANGELOG, HDFS, OURS, Provider
from snapline_bench.session import open_session, unload
from snapline_bench.stream import Progress, Stream, Workload

SCHEMA = "key bigint, time timestamp"
#: Microseconds from one event to the next.
STEP = 4_000


REPS = 3
#: Snapline without its index of times: it walks over all rows.
WALK = "walk"
NAMES = (CHANGELOG.name, HDFS.name, OURS, WALK)
TIME_INDEX = "spark.snapline.state.time-index.enabled"
#: A delay in which nothing is removed.
FOR_EVER = "100000 days"

Operator = Callable[[DataFrame, int], DataFrame]


def window(events: DataFrame, kept: int) -> DataFrame:
    return events.groupBy(F.window("time", "1 second"), "key").count()


def session(events: DataFrame, kept: int) -> DataFrame:
    return events.groupBy(F.session_window("time", "1 second"), "key").count()


def returning(events: DataFrame, kept: int) -> DataFrame:
    """Each key has two sessions at a time."""
    return session(events.withColumn("key", F.col("key") % (kept // 2)), kept)


def dedup(events: DataFrame, kept: int) -> DataFrame:
    return events.dropDuplicates(["key", "time"])


def dedup_within(events: DataFrame, kept: int) -> DataFrame:
    return events.dropDuplicatesWithinWatermark(["key"])


def join(events: DataFrame, kept: int) -> DataFrame:
    """Each side keeps the rows."""
    other = events.select(F.col("key").alias("other"), F.col("time").alias("at"))
    near = "key = other AND at BETWEEN time - INTERVAL 1 SECOND AND time + INTERVAL 1 SECOND"
    return events.join(other, F.expr(near))


def flat_map(events: DataFrame, kept: int) -> DataFrame:
    return in_scala("flatMapGroups", events)


def timers(events: DataFrame, kept: int) -> DataFrame:
    return in_scala("timers", events)


def in_scala(name: str, events: DataFrame) -> DataFrame:
    """As `bench/timeouts` has it: a batch has no calls of Python in it, one for each key, that would hide the state."""
    spark = events.sparkSession
    made = getattr(spark._jvm.io.snapline.bench.Timeouts, name)(events._jdf)  # type: ignore[union-attr]
    return DataFrame(made, spark)


OPERATORS: dict[str, tuple[Operator, str]] = {
    "window": (window, "windowed aggregation"),
    "session": (session, "session window"),
    "returning": (returning, "session window, keys that return"),
    "dedup": (dedup, "dropDuplicates"),
    "within": (dedup_within, "dropDuplicatesWithinWatermark"),
    "join": (join, "stream-stream join"),
    "flat_map": (flat_map, "flatMapGroupsWithState, timeouts"),
    "timers": (timers, "transformWithState, timers"),
}


@dataclass(frozen=True)
class Sizes:
    """`few`, then `keys` rows are kept; `rows` come, and go, in each batch. `operators`: of `OPERATORS`."""

    few: int = 10_000
    keys: int = 1_000_000
    rows: int = 1_000
    warm_up: int = 15
    batches: int = 20
    memory: str = "6g"
    operators: tuple[str, ...] = tuple(OPERATORS)


QUICK = Sizes(keys=100_000, warm_up=5, batches=8)
FIGURES = {
    **{f"{name}_many_ms": f"{title}, batch ms, many" for name, (_, title) in OPERATORS.items()},
    **{f"{name}_removal_ms": f"{title}, removals ms, many" for name, (_, title) in OPERATORS.items()},
    **{f"{name}_growth": f"{title}, many over few" for name, (_, title) in OPERATORS.items()},
    "percent_ms": "windowed aggregation, removals of 1 %, ms",
    "insert_cpu_ms": "CPU ms / batch, nothing to remove",
    "insert_mb": "MB written, nothing to remove",
    "cpu_ms": "CPU ms / batch, many",
    "others": "other load, cores",
}
GOALS = [
    *(Goal(f"{name}_growth", Part.ABSOLUTE, OURS, 1.2) for name in OPERATORS),
    *(Goal(f"{name}_many_ms", Part.WHOLE, CHANGELOG.name, 0.3) for name in OPERATORS),
    Goal("percent_ms", Part.WHOLE, WALK, 0.02),
    Goal("insert_cpu_ms", Part.WHOLE, WALK, 1.1),
    Goal("insert_mb", Part.WHOLE, WALK, 1.1),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """Snapline as `snapline.configure` sets it: its extension finds out what a batch removes."""
    ours = {**provider.COORDINATED, local_files.SETTING: local_files.CLASSES[local_files.OURS]}
    found = {each.name: each for each in provider.choose([*names, OURS], jar, settings)}
    if OURS in found:
        found[OURS] = replace(found[OURS], settings={**ours, **found[OURS].settings})
        walk = {**found[OURS].settings, TIME_INDEX: "false"}
        found[WALK] = replace(found[OURS], name=WALK, title="Snapline without an index of times", settings=walk)
    return [found[name] for name in names if name in found]


def measure(job: Job) -> Result:
    sizes = Sizes(**{**job.sizes, "operators": tuple(job.sizes["operators"])})
    jar = compiled("timeouts", venv.BENCH / "timeouts", venv.BUILD, ())
    given = replace(job.provider, jars=(*job.provider.jars, str(jar)))
    spark = open_session(given, job.null_jar, job.scratch, "60s", sizes.memory)
    figures: dict[str, Any] = {}
    cpu_s, others, batches = 0.0, [], []
    for name in sizes.operators:
        operator, _ = OPERATORS[name]
        if operator is timers and job.provider.name == HDFS.name:
            continue  # Spark has it on RocksDB alone
        few, _ = run(spark, job, sizes, sizes.few, f"{name}-few", operator)
        many, usage = run(spark, job, sizes, sizes.keys, f"{name}-many", operator)
        figures[f"{name}_many_ms"] = wall(many)
        figures[f"{name}_removal_ms"] = median(each["stateOperators"][0]["allRemovalsTimeMs"] for each in many)
        figures[f"{name}_growth"] = wall(many) / wall(few)
        cpu_s += usage.cpu_s
        others.append(usage.others)
        batches += [{"operator": name, "wall_ms": each["durationMs"]["triggerExecution"]} for each in many]
    if "window" in sizes.operators:
        figures |= of_windows(spark, job, sizes)
    spark.stop()
    figures["cpu_ms"] = cpu_s / len(others) / sizes.batches * 1e3
    figures["others"] = max(others)
    return {"figures": figures, "batches": batches}


def of_windows(spark: SparkSession, job: Job, sizes: Sizes) -> dict[str, float]:
    """Where a batch removes 1 % of the rows, and where nothing is removed."""
    percent, _ = run(spark, job, replace(sizes, rows=sizes.keys // 100), sizes.keys, "percent", window)
    usage = run(spark, job, sizes, sizes.keys, "insert", window, FOR_EVER)[1]
    state = job.scratch / "insert-checkpoint" / "state"
    return {
        "percent_ms": median(each["stateOperators"][0]["allRemovalsTimeMs"] for each in percent),
        "insert_cpu_ms": usage.cpu_s / sizes.batches * 1e3,
        "insert_mb": sum(each.stat().st_size for each in state.rglob("*") if each.is_file()) / 1e6,
    }


def run(
    spark: SparkSession,
    job: Job,
    sizes: Sizes,
    kept: int,
    name: str,
    operator: Operator,
    for_ever: str | None = None,
) -> tuple[list[Progress], cpu.Usage]:
    """The measured batches of one operator, and what they used. A batch of all `kept` rows comes first.

    `for_ever`: a delay in which nothing is removed; None: as much is removed as comes.
    """
    steady = sizes.warm_up + sizes.batches
    batches = prepare(TimedEvents(kept, sizes.rows, steady, STEP), job.data)
    # Deduplication within a watermark keeps a row for its delay beyond the watermark.
    lives = 2 if operator is dedup_within else 1
    delay = for_ever or f"{kept * STEP // 1000 // lives} milliseconds"
    workload = Workload(SCHEMA, lambda events: operator(events.withWatermark("time", delay), kept))
    stream = Stream(spark, workload, job.scratch / name, job.scratch / f"{name}-checkpoint", output_mode="append")
    stream.land(batches[:1])
    stream.start()
    stream.drain()
    for batch in batches[1 : 1 + sizes.warm_up]:
        stream.land([batch])
    stream.drain()
    # A query that waits for files looks for them all the time, which takes 0.4 cores.
    assert cpu.settle(most_s=300, idle=0.7), "the snapshot of the first batch takes longer than five minutes"
    before = cpu.read()
    for batch in batches[1 + sizes.warm_up :]:
        stream.land([batch])
    progress = stream.drain()
    usage = cpu.read().since(before)
    stream.stop()
    unload(spark)
    removed = sum(each["stateOperators"][0]["numRowsRemoved"] for each in progress)
    assert len(progress) == sizes.batches, f"{len(progress)} batches"
    assert for_ever or removed > sizes.batches * sizes.rows / 2, f"{removed} rows removed: the watermark stands still"
    return progress, usage


def wall(progress: list[Progress]) -> float:
    return median(each["durationMs"]["triggerExecution"] for each in progress)
