"""State on a store that is far away: what a batch costs, and what is written, with checkpoints at an interval."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from snapline_bench import cpu, provider
from snapline_bench.events import SumEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import SUMS, Stream, summary
from snapline_bench.written import Written, WrittenWatch, plus

FAST, EVERY = "fast", "every-batch"
NAMES = (FAST, OURS, EVERY, "changelog", "rocksdb", "hdfs", "null")
TITLES = {
    FAST: "Snapline, interval, near",
    OURS: "Snapline, interval, far",
    EVERY: "Snapline, every batch, far",
}


@dataclass(frozen=True)
class Sizes:
    """
    `latency_ms`, `mb_s`: of the far store. `below`: what lies there, by a pattern of paths; Spark's two logs are on the
    near one, unless it is `.*`. `interval_s`: between checkpoints, on a machine that keeps the pace. `pace_s`: a batch
    starts at most this often.
    `partitions` of state: a task that waits for its commit holds a core: the more, the longer a batch waits.
    """

    keys: int = 10_000
    rows: int = 4_000
    warm_up: int = 10
    batches: int = 150
    latency_ms: int = 50
    mb_s: int = 50
    below: str = ".*/(state|snapline)/.*"
    interval_s: float = 10.0
    pace_s: float = 0.2
    partitions: int = 16
    memory: str = "4g"

    @property
    def between(self) -> int:
        """Batches from one checkpoint to the next."""
        return round(self.interval_s / self.pace_s)

    def events(self) -> SumEvents:
        return SumEvents(self.rows, self.keys, self.warm_up + self.batches)


QUICK = Sizes(batches=50, warm_up=5)
REPS = 3
FIGURES = {
    "wall_ms": "batch ms",
    "wall_p90_ms": "90 % of batches, ms",
    "cpu_s_batch": "CPU s / batch",
    "files_min": "files / min at 5 batches/s",
    "mb_min": "MB / min at 5 batches/s",
    "checkpoints": "checkpoints",
}
GOALS = [
    Goal("wall_ms", Part.WHOLE, FAST, 1.1),
    Goal("wall_ms", Part.WHOLE, "changelog", 0.2),
    Goal("wall_ms", Part.WHOLE, "rocksdb", 0.2),
    Goal("wall_ms", Part.WHOLE, EVERY, None),
    Goal("wall_ms", Part.WHOLE, "null", None),
    Goal("files_min", Part.WHOLE, "changelog", 0.1),
    Goal("mb_min", Part.WHOLE, "changelog", 0.1),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """Snapline's jar serves three of them."""
    found = provider.find_snapline_jar(jar)
    theirs = {each.name: each for each in (provider.CHANGELOG, provider.ROCKSDB, provider.HDFS, provider.NULL)}
    chosen = []
    for name in names:
        if name in theirs:
            chosen.append(theirs[name])
        elif found is not None:
            ours = {**provider.COORDINATED, **settings}
            chosen.append(replace(provider.snapline_provider(found, ours), name=name, title=TITLES[name]))
    return chosen


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    if job.provider.name in (FAST, OURS):
        return run_far(job, sizes, _start, near=job.provider.name == FAST, between=sizes.between)
    return run_far(job, sizes, None)


def run_far(job: Job, sizes: Sizes, start: Any, near: bool = False, between: int | None = None) -> Result:
    """
    Args:
        start: makes a query of a writer; None: Spark does.
        near: the state is on a store that is not slow.
        between: a checkpoint is taken after so many batches; None: when the query's own settings say so.
    """
    batches = prepare(sizes.events(), job.data)
    folder = job.scratch / "checkpoint"
    jars = [str(job.null_jar), *job.provider.jars]
    far = {
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.sql.shuffle.partitions": str(sizes.partitions),
        "spark.hadoop.fs.slow.impl": "io.snapline.bench.SlowFileSystem",
        "spark.hadoop.fs.slow.latency-ms": str(sizes.latency_ms),
        "spark.hadoop.fs.slow.bytes-per-second": str(sizes.mb_s << 20),
        "spark.hadoop.fs.slow.below": sizes.below,
    }
    configured = replace(job.provider, settings={**job.provider.settings, **far})
    spark = open_session(configured, job.null_jar, job.scratch, maintenance="30s", memory=sizes.memory)
    stream = Stream(spark, SUMS, job.scratch, str(folder) if near else f"slow:{folder}")
    watches = [WrittenWatch(folder / "state"), WrittenWatch(folder / "snapline")]
    stream.start(start)
    for batch in batches[: sizes.warm_up]:
        _run(stream, batch)
    for watch in watches:
        watch.new()

    before = cpu.read()
    total, measured = Written(), []
    triggered: list[Future[int]] = []
    query: Any = stream.query
    with ThreadPoolExecutor(1) as pool:
        for number, batch in enumerate(batches[sizes.warm_up :]):
            if between is not None and number % between == between // 2:
                triggered.append(pool.submit(query.trigger_checkpoint))
            due = time.monotonic() + sizes.pace_s
            measured.append(_run(stream, batch))
            for watch in watches:
                total = plus(total, watch.new())
            time.sleep(max(0.0, due - time.monotonic()))
        usage = cpu.read().since(before)
    for each in triggered:
        each.result()
    checkpoints = _completed(stream) if start is not None else 0
    stream.stop()
    spark.stop()
    walls = sorted(batch["wall_ms"] for batch in measured)
    per_minute = 300 / sizes.batches
    return {
        "figures": {
            "wall_ms": median(walls),
            "wall_p90_ms": walls[int(len(walls) * 0.9)],
            "cpu_s_batch": usage.cpu_s / sizes.batches,
            "files_min": total.files * per_minute,
            "mb_min": total.bytes / 1e6 * per_minute,
            "checkpoints": checkpoints,
            "others": usage.others,
        },
        "batches": measured,
        "sizes": asdict(sizes),
    }


def _run(stream: Stream, batch: Path) -> dict[str, Any]:
    """Asks for the last progress only: all of them, batch after batch, would cost more than the batches."""
    stream.land([batch])
    query: Any = stream.query
    query.processAllAvailable()
    return summary(json.loads(query.lastProgress.json))


def _start(writer: Any) -> Any:
    """With checkpoints that are due after so many batches as fit in the interval: not the more, the slower they are."""
    import snapline

    return snapline.start(writer, snapline.CheckpointConfig(interval=timedelta(days=1), num_retained=2))


def _completed(stream: Stream) -> int:
    query: Any = stream.query
    found = query.checkpoints()
    failed = [each for each in found["history"] if each["status"] == "FAILED"]
    # A newer one overtook it, or a batch began when it was to be taken.
    harmless = {"CHECKPOINT_SUBSUMED", "CHECKPOINT_DECLINED_TASK_NOT_READY"}
    assert {each["failure_reason"] for each in failed} <= harmless, failed
    return int(found["counts"]["completed"])
