"""Checkpoints that overlap on a store that is far away, with partitions that wait for their barrier and without."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from snapline_bench import slow
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.snapline_only import sessions

EXACTLY = "exactly-once"
NAMES = (EXACTLY, OURS)
TITLES = {EXACTLY: "EXACTLY_ONCE", OURS: "AT_LEAST_ONCE"}


@dataclass(frozen=True)
class Sizes(slow.Sizes):
    """`concurrent`: checkpoints at most. Two threads upload."""

    keys: int = 100_000
    rows: int = 20_000
    batches: int = 100
    interval_s: float = 0.2
    concurrent: int = 4


QUICK = Sizes(batches=30, warm_up=5)
REPS = 3
FIGURES = slow.FIGURES
GOALS = [
    Goal("wall_ms", Part.WHOLE, EXACTLY, 1.0),
    Goal("cpu_s_batch", Part.WHOLE, EXACTLY, None),
    Goal("files_min", Part.WHOLE, EXACTLY, None),
    Goal("checkpoints", Part.WHOLE, EXACTLY, None),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def measure(job: Job) -> Result:
    import snapline

    sizes = Sizes(**job.sizes)
    config = snapline.CheckpointConfig(
        mode="AT_LEAST_ONCE" if job.provider.name == OURS else "EXACTLY_ONCE",
        interval=timedelta(seconds=sizes.interval_s),
        max_concurrent_checkpoints=sizes.concurrent,
        num_retained=2,
        data_inline_threshold=0,
    )

    def start(writer: Any) -> Any:
        return snapline.start(writer, config)

    return slow.run_far(job, sizes, start)
