"""Nexmark: how much longer a batch takes at the end than at the beginning, state and all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from pyspark.sql.streaming.readwriter import DataStreamWriter

import snapline
from snapline_bench import cpu, nexmark
from snapline_bench.events import prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.nexmark_events import NexmarkEvents
from snapline_bench.nexmark_queries import QUERIES
from snapline_bench.provider import CHANGELOG, HDFS, OURS, Provider
from snapline_bench.stream import Progress, Stream

INTERVAL = "snapline-interval"
NAMES = (OURS, INTERVAL)
#: Batches. A store makes its snapshots at every tenth.
SPAN = 10


@dataclass(frozen=True)
class Sizes(nexmark.Sizes):
    """One batch, with which the query is planned, and a span to warm up with; then three, of which the first and the
    last are compared.
    """

    rows: int = 150_000
    warm_up: int = 1 + SPAN
    batches: int = 3 * SPAN


QUICK = Sizes(rows=20_000)
REPS = 3
FIGURES = {
    **{f"{name}_growth": f"{name}: last {SPAN} batches over first {SPAN}" for name in QUERIES},
    **{f"{name}_ms": f"{name}: batch ms, the last {SPAN}" for name in QUERIES},
    "others": "other load, cores",
}
GOALS = [Goal(f"{name}_growth", Part.ABSOLUTE, each, 1.1, ours=each) for each in (OURS, INTERVAL) for name in QUERIES]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    known = {each.name: each for each in nexmark.choose([OURS, CHANGELOG.name, HDFS.name], jar, settings)}
    known[INTERVAL] = replace(known[OURS], name=INTERVAL, title=f"Snapline, a checkpoint every {SPAN} batches")
    return [known[name] for name in names if name in known]


def measure(job: Job) -> Result:
    sizes = Sizes(**{**job.sizes, "queries": tuple(job.sizes["queries"])})
    batches = prepare(NexmarkEvents(sizes.rows, sizes.warm_up + sizes.batches), job.data)
    figures, each, begun = {}, [], cpu.read()
    for name, stream in nexmark.each_query(job, sizes):
        stream.land(batches[:1])
        stream.start(_rarely if job.provider.name == INTERVAL else None)
        stream.drain()
        spans = []
        for first in range(1, len(batches), SPAN):
            stream.land(batches[first : first + SPAN])
            progress = _with_checkpoint(stream) if job.provider.name == INTERVAL else stream.drain()
            nexmark.check_rows(name, progress, sizes.rows * SPAN)
            spans.append([batch["durationMs"]["triggerExecution"] for batch in progress])
        _, early, _, last = (sum(walls) for walls in spans)
        figures[f"{name}_ms"] = last / SPAN
        figures[f"{name}_growth"] = last / early
        each += [
            {"query": name, "span": number, "wall_ms": wall} for number, walls in enumerate(spans) for wall in walls
        ]
    return {"figures": {**figures, "others": cpu.read().since(begun).others}, "batches": each}


def _rarely(writer: DataStreamWriter) -> snapline.SupervisedQuery:
    """With no checkpoint but those asked for: by the clock, one span would have more of them than another."""
    return snapline.start(writer, snapline.CheckpointConfig(interval=timedelta(hours=1)))


def _with_checkpoint(stream: Stream) -> list[Progress]:
    """The batches that have landed, with one checkpoint, which begins with one of the first two."""
    with ThreadPoolExecutor(1) as waiting:
        complete = waiting.submit(stream.query.trigger_checkpoint)
        progress = stream.drain()
        complete.result()
    return progress
