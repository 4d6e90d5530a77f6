"""Nexmark: how much longer a batch takes at the end than at the beginning, state and all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from snapline_bench import nexmark
from snapline_bench.events import prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.nexmark_events import NexmarkEvents
from snapline_bench.nexmark_queries import QUERIES
from snapline_bench.provider import HDFS, OURS, Provider

NAMES = (OURS, nexmark.INTERVAL, HDFS.name)
#: Batches from one snapshot of a store to the next, so that a span has as much of them as any other.
SPAN = 10


@dataclass(frozen=True)
class Sizes(nexmark.Sizes):
    """More batches than what an event costs is measured with."""

    batches: int = 2 * SPAN


QUICK = Sizes(rows=20_000, warm_up=2)
REPS = 3
FIGURES = {
    **{f"{name}_growth": f"{name}: last {SPAN} batches over first {SPAN}" for name in QUERIES},
    **{f"{name}_ms": f"{name}: batch ms, the last {SPAN}" for name in QUERIES},
    "others": "other load, cores",
}
GOALS = [
    Goal(f"{name}_growth", Part.ABSOLUTE, each, 1.1, ours=each) for each in (OURS, nexmark.INTERVAL) for name in QUERIES
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return nexmark.choose(names, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**{**job.sizes, "queries": tuple(job.sizes["queries"])})
    batches = prepare(NexmarkEvents(sizes.rows, sizes.warm_up + sizes.batches), job.data)
    figures, loads, each = {}, [], []
    for name, (usage, walls) in nexmark.measure_spark(job, sizes, batches).items():
        figures[f"{name}_ms"] = mean(walls[-SPAN:])
        figures[f"{name}_growth"] = mean(walls[-SPAN:]) / mean(walls[:SPAN])
        loads.append(usage.others)
        each += [{"query": name, "wall_ms": wall} for wall in walls]
    return {"figures": {**figures, "others": max(loads)}, "batches": each}
