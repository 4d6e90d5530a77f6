"""How long a query takes to load the state that `incremental` left, in a fresh process."""

from __future__ import annotations

import os
import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from snapline_bench import cpu, incremental
from snapline_bench.events import FIRST_TIME, update_table, write_batch
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.session import open_session
from snapline_bench.stream import Progress, Stream, summary


@dataclass(frozen=True)
class Sizes:
    """`tiny`: rows in each batch, so that loading is all there is to see."""

    tiny: int = 100
    warm_up: int = 5
    later: int = 5
    state: incremental.Sizes | None = None


REPS = 5

FIGURES = {
    "load_ms": "load ms (first - later)",
    "first_ms": "first batch ms",
    "later_ms": "later batch ms",
    "answer_ms": "start to answer ms",
    "load_cpu_s": "CPU s to answer",
    "others": "other load, cores",
}
STATE_PART = ()
GOALS = [
    Goal("load_ms", Part.WHOLE, "changelog", 0.5),
    Goal("load_ms", Part.WHOLE, "rocksdb", None),
    Goal("load_ms", Part.WHOLE, "hdfs", None),
]


def measure(job: Job) -> Result:
    sizes = Sizes(**{**job.sizes, "state": incremental.Sizes(**job.sizes["state"])})
    assert sizes.state is not None
    inputs = tiny_batches(job.scratch / "tiny", sizes, sizes.state.keys)
    spark = open_session(job.provider, job.null_jar, job.scratch, maintenance="24h", memory=sizes.state.memory)

    # The same query on an empty store first: after it, Spark's own start-up (classes, code generation,
    # native library) is over.
    warm = Stream(spark, incremental.WORKLOAD, job.scratch / "warm", job.scratch / "warm-checkpoint")
    warm.start()
    for batch in inputs[: sizes.warm_up]:
        warm.land([batch])
        warm.drain()
    warm.stop()

    checkpoint = job.scratch / "checkpoint"
    shutil.copytree(job.checkpoint, checkpoint, copy_function=os.link)
    stream = Stream(spark, incremental.WORKLOAD, job.scratch / "restarted", checkpoint)
    stream.land(inputs[:1])
    before = cpu.read()
    stream.start()
    first = drained(stream)
    answered = cpu.read().since(before)
    later = []
    for batch in inputs[1 : 1 + sizes.later]:
        time.sleep(0.2)
        stream.land([batch])
        later.append(summary(drained(stream)))
    stream.stop()
    spark.stop()

    first_batch = summary(first)
    incremental.check_keys(job.provider, first_batch, sizes.state.keys)
    later_ms = median(batch["add_batch_ms"] for batch in later)
    return {
        "figures": {
            "load_ms": first_batch["add_batch_ms"] - later_ms,
            "first_ms": first_batch["add_batch_ms"],
            "later_ms": later_ms,
            "answer_ms": answered.elapsed_s * 1e3,
            "load_cpu_s": answered.cpu_s,
            "others": answered.others,
        },
        "batches": [first_batch, *later],
    }


def drained(stream: Stream) -> Progress:
    progress = stream.drain()
    assert len(progress) == 1, f"{len(progress)} batches instead of one"
    return progress[0]


def tiny_batches(folder: Path, sizes: Sizes, keys: int) -> list[Path]:
    draw = random.Random(6)
    folders = []
    for number in range(max(sizes.warm_up, 1 + sizes.later)):
        batch = folder / f"{number:05d}"
        # Far above every sequence number of the load, and newer than all its files.
        table = update_table(draw.sample(range(keys), sizes.tiny), 1_000_000 + number, 100, draw)
        write_batch(table, batch, FIRST_TIME + 1_000_000 + number)
        folders.append(batch)
    return folders
