"""The memory of the Python workers, whatever the number of keys in a micro-batch."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from snapline_bench import cpu, keyed
from snapline_bench.events import KeyRange, prepare
from snapline_bench.goal import Goal
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, summary

NAMES = (OURS,)


@dataclass(frozen=True)
class Sizes:
    """`few` keys in the first micro-batch, `keys` in the second, each once."""

    few: int = 200_000
    keys: int = 5_000_000
    memory: str = "6g"


QUICK = Sizes(keys=1_000_000)
REPS = 1
FIGURES = {
    "few_mb": "largest worker after the first batch, MB",
    "worker_mb": "after the second, MB",
    "batch_s": "second batch, s",
    "epochs": "epochs",
    "others": "other load, cores",
}
GOALS: list[Goal] = []


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return keyed.find_engines(names, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    few, many = prepare(KeyRange((sizes.few, sizes.keys)), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = Stream(spark, keyed.transform(OURS, 0), job.scratch, job.scratch / "checkpoint")
    stream.start()
    stream.land([few])
    stream.drain()
    few_mb = largest_worker_mb()
    before = cpu.read()
    stream.land([many])
    (progress,) = stream.drain()
    usage = cpu.read().since(before)
    worker_mb = largest_worker_mb()
    stream.stop()
    spark.stop()
    assert progress["numInputRows"] == sizes.keys
    return {
        "figures": {
            "few_mb": few_mb,
            "worker_mb": worker_mb,
            "batch_s": progress["durationMs"]["triggerExecution"] / 1e3,
            "epochs": progress["stateOperators"][0]["customMetrics"]["numPythonEpochs"],
            "others": usage.others,
        },
        "batches": [summary(progress)],
    }


def largest_worker_mb() -> float:
    """The most that a Python worker of this process has ever held (VmHWM), in MB."""
    parents: dict[int, int] = {}
    peaks: dict[int, float] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            lines = (process / "status").read_text().splitlines()
        except OSError:
            continue  # it ended while we were looking
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        parents[int(process.name)] = int(fields["PPid"])
        if fields["Name"].strip().startswith("python"):
            peaks[int(process.name)] = int(fields.get("VmHWM", "0 kB").split()[0]) / 1024
    mine = [peak for pid, peak in peaks.items() if pid != os.getpid() and cpu.descends(pid, os.getpid(), parents)]
    return max(mine)
