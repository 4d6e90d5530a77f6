"""Many partitions of small state: how many files a checkpoint is, with file merging and without."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import mean, median
from typing import Any

from snapline_bench import provider
from snapline_bench.events import SumEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import SUMS, Stream
from snapline_bench.written import WrittenWatch

SINGLE = "single"
NAMES = (OURS, SINGLE)
TITLES = {OURS: "Snapline, file merging", SINGLE: "Snapline, a file for each handle"}


@dataclass(frozen=True)
class Sizes:
    """Every batch is followed by a checkpoint, and the next one waits for it. `latency_ms`: of the store."""

    partitions: int = 50
    keys: int = 5_000
    rows: int = 5_000
    warm_up: int = 2
    batches: int = 10
    latency_ms: int = 50

    def events(self) -> SumEvents:
        return SumEvents(self.rows, self.keys, self.warm_up + self.batches)


QUICK = Sizes(batches=3)
REPS = 1
FIGURES = {
    "files": "files / checkpoint",
    "kb": "kB / checkpoint",
    "checkpoint_ms": "batch to complete, ms",
    "checkpoints": "checkpoints",
}
GOALS = [Goal("files", Part.WHOLE, SINGLE, None), Goal("checkpoint_ms", Part.WHOLE, SINGLE, None)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """Snapline's jar serves both."""
    found = provider.find_snapline_jar(jar)
    if found is None:
        return []
    ours = {**provider.COORDINATED, **settings}
    return [replace(provider.snapline_provider(found, ours), name=name, title=TITLES[name]) for name in names]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    batches = prepare(sizes.events(), job.data)
    folder = job.scratch / "checkpoint"
    settings = {
        "spark.driver.extraClassPath": ":".join([str(job.null_jar), *job.provider.jars]),
        "spark.hadoop.fs.slow.impl": "io.snapline.bench.SlowFileSystem",
        "spark.hadoop.fs.slow.latency-ms": str(sizes.latency_ms),
        "spark.hadoop.fs.slow.below": ".*/(state|snapline)/.*",
        "spark.sql.shuffle.partitions": str(sizes.partitions),
    }
    configured = replace(job.provider, settings={**job.provider.settings, **settings})
    spark = open_session(configured, job.null_jar, job.scratch, maintenance="30s", memory="4g")
    stream = Stream(spark, SUMS, job.scratch, f"slow:{folder}")
    stream.start(_starter(job.provider.name == OURS))
    watches = [WrittenWatch(folder / "state"), WrittenWatch(folder / "snapline")]
    written = []
    for number, batch in enumerate(batches, 1):
        stream.land([batch])
        _complete(stream, number)
        new = [watch.new() for watch in watches]
        written.append((sum(each.files for each in new), sum(each.bytes for each in new)))
    query: Any = stream.query
    history = query.checkpoints()["history"][: sizes.batches]
    stream.stop()
    spark.stop()
    measured = written[sizes.warm_up :]
    return {
        "figures": {
            "files": mean(files for files, _ in measured),
            "kb": mean(size for _, size in measured) / 1e3,
            "checkpoint_ms": median(each["end_to_end_duration"] for each in history),
            "checkpoints": len(history),
            "others": 0.0,
        },
        "sizes": asdict(sizes),
    }


def _complete(stream: Stream, number: int) -> None:
    """Waits for the batch, and the checkpoint at its end."""
    query: Any = stream.query
    query.processAllAvailable()
    deadline = time.monotonic() + 120
    while (counts := query.checkpoints()["counts"])["completed"] < number:
        assert counts["failed"] == 0, counts
        assert time.monotonic() < deadline, counts
        time.sleep(0.05)


def _starter(merging: bool) -> Any:
    import snapline

    # Kept, so that every file is seen.
    config = snapline.CheckpointConfig(interval=timedelta(milliseconds=10), num_retained=1000, file_merging=merging)
    return lambda writer: snapline.start(writer, config)
