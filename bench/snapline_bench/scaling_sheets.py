"""The tables of `scaling`: each point beside what the model makes of it, and what the model says of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from snapline_bench.model import LOCAL, Batch, Cores, Model
from snapline_bench.provider import OURS
from snapline_bench.sheet import Sheet, number

CLUSTERS = {
    "this machine": (LOCAL, 2),
    "50 executors x 4 cores, 200 partitions": (Cores(200, 200), 200),
    "50 executors x 4 cores, 1,000 partitions": (Cores(200, 200), 1_000),
}
CLUSTER_ROWS = (100_000, 1_000_000, 10_000_000)


def sheets(runs: list[dict[str, Any]]) -> list[Sheet]:
    points = Sheet(
        "measured, and what the model makes of it",
        ("provider", "partitions", "keys", "rows", "changed", "checkpoint", "batch ms", "model ms", "off by", ""),
        [_line(run["provider"], each) for run in runs for each in run["points"]],
    )
    return [points, _clusters(runs)]


def _line(name: str, each: dict[str, Any]) -> tuple[str, ...]:
    sizes = (f"{each[what]:,.0f}" for what in ("partitions", "keys", "rows", "changed"))
    off = f"{each['model_ms'] / each['wall_ms'] - 1:+.0%}"
    told = "held out" if each["held_out"] else ""
    taken = "yes" if each["checkpoint"] else ""
    return (name, *sizes, taken, number(each["wall_ms"]), number(each["model_ms"]), off, told)


def _clusters(runs: list[dict[str, Any]]) -> Sheet:
    """Half as many keys change as there are rows."""
    rows = []
    for run in runs:
        model = Model(**run["model"])
        for name, (cores, partitions) in CLUSTERS.items():
            for count in CLUSTER_ROWS:
                batch = Batch(partitions, count, count / 2)
                taken = replace(batch, checkpoint=True)
                wall = model.wall_ms(batch, cores)
                with_checkpoint = number(model.wall_ms(taken, cores)) if run["provider"] == OURS else ""
                driver = f"{model.driver_ms(batch) / wall:.0%}"
                rows.append((run["provider"], name, f"{count:,}", number(wall), driver, with_checkpoint))
    return Sheet(
        "what the model says of a batch elsewhere: predicted, not measured; without network, with storage that is near",
        ("provider", "on", "rows", "batch ms", "of it the driver", "with a checkpoint, ms"),
        rows,
    )
