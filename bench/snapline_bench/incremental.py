"""Few changes to much state: how many bytes and files a micro-batch writes below the checkpoint's state folder."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from snapline_bench import cpu
from snapline_bench.events import UpdateEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import NULL, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, Workload, summary
from snapline_bench.written import Written, WrittenWatch, plus


@dataclass(frozen=True)
class Sizes:
    """
    `settle`: batches between the load and the first one measured; `pace_s`: a batch starts at most this often;
    `maintain_every`: batches between two runs of store maintenance, the first after half as many. 20 is what Spark's
    60 s timer makes of a batch every three seconds.
    """

    keys: int = 1_000_000
    changed: int = 10_000
    settle: int = 12
    batches: int = 60
    maintain_every: int = 20
    pace_s: float = 0.5
    memory: str = "4g"

    def events(self) -> UpdateEvents:
        return UpdateEvents(self.keys, self.changed, 1 + self.settle + self.batches)


QUICK = Sizes(keys=200_000, changed=2_000, batches=20)
REPS = 1

# The state of max_by: the 100-byte payload, the sequence number it belongs to, and 28 bytes of Spark's row format.
WORKLOAD = Workload(
    "key bigint, seq bigint, payload binary",
    lambda events: events.groupBy("key").agg(F.max_by("payload", "seq").alias("payload")),
)

FIGURES = {
    "mb_batch": "MB / batch",
    "files_batch": "files / batch",
    "sidecars_batch": ".crc / batch",
    "mb_load": "load and settle, MB",
    "wall_ms": "batch ms",
    "commit_ms": "commit ms, 2 tasks",
    "cpu_s_batch": "CPU s / batch",
    "state_mb": "state folder MB",
}
STATE_PART = ()
GOALS = [
    Goal("mb_batch", Part.ABSOLUTE, "", 3.0),
    Goal("files_batch", Part.WHOLE, "changelog", 1.0),
    Goal("mb_batch", Part.WHOLE, "changelog", None),
    Goal("mb_batch", Part.WHOLE, "rocksdb", None),
    Goal("mb_batch", Part.WHOLE, "hdfs", None),
]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    batches = prepare(sizes.events(), job.data)
    checkpoint = job.scratch / "checkpoint"
    # Spark's timer is set beyond the end of the run: maintenance comes after a number of batches instead.
    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="24h", memory=sizes.memory)
    stream = Stream(spark, WORKLOAD, job.scratch, checkpoint)
    watch = WrittenWatch(checkpoint / "state")
    stream.start()
    for batch in batches[: 1 + sizes.settle]:
        stream.land([batch])
        stream.drain()
    maintain(spark)
    loaded = watch.quiet()

    before = cpu.read()
    written: list[Written] = []
    measured = []
    for number, batch in enumerate(batches[1 + sizes.settle :]):
        due = time.monotonic() + sizes.pace_s
        stream.land([batch])
        measured += [summary(progress) for progress in stream.drain()]
        if number % sizes.maintain_every == sizes.maintain_every // 2:
            maintain(spark)
        written.append(watch.new())
        time.sleep(max(0.0, due - time.monotonic()))
    left = watch.quiet()
    usage = cpu.read().since(before)
    stream.stop()
    spark.stop()
    assert len(measured) == sizes.batches, f"{len(measured)} batches"
    check_keys(job.provider, measured[-1], sizes.keys)

    total = left
    for one in written:
        total = plus(total, one)
    result = {
        "figures": {
            "mb_batch": total.bytes / sizes.batches / 1e6,
            "mb_load": loaded.bytes / 1e6,
            "files_batch": total.files / sizes.batches,
            "sidecars_batch": total.sidecars / sizes.batches,
            "wall_ms": median(batch["wall_ms"] for batch in measured),
            "commit_ms": median(batch["commit_ms"] for batch in measured),
            "cpu_s_batch": usage.cpu_s / sizes.batches,
            "state_mb": folder_bytes(checkpoint / "state") / 1e6,
            "others": usage.others,
        },
        "loaded": asdict(loaded),
        "written": [asdict(one) for one in [*written, left]],
        "batches": measured,
    }
    keep(checkpoint, job.checkpoint)
    return result


def keep(checkpoint: Path, at: Path) -> None:
    """Leaves a whole checkpoint for `restart`, in place of an earlier run's."""
    shutil.rmtree(at, ignore_errors=True)
    at.parent.mkdir(exist_ok=True)
    checkpoint.rename(at)


def check_keys(provider: Provider, batch: dict[str, Any], keys: int) -> None:
    """A store that has lost keys has no time worth measuring."""
    if provider != NULL and batch["state_rows"] != keys:
        raise AssertionError(f"{provider.name} holds {batch['state_rows']} keys instead of {keys}")


def maintain(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    jvm.io.snapline.bench.StoreMaintenance.run()


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
