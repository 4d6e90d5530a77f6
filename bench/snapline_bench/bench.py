"""The benches by name: what each measures in a fresh process, and how its figures are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from snapline_bench import (
    aggregation,
    incremental,
    keyed,
    latency,
    merging,
    provider,
    recovery,
    restart,
    slow,
    tab,
    workers,
)
from snapline_bench.goal import Goal
from snapline_bench.job import Job, Result
from snapline_bench.provider import Provider


@dataclass(frozen=True)
class Bench:
    name: str
    measure: Callable[[Job], Result]
    sizes: dict[str, Any]
    quick: dict[str, Any]
    reps: int
    figures: dict[str, str]
    state_part: tuple[str, ...]
    goals: list[Goal]
    names: tuple[str, ...] = provider.NAMES
    choose: Callable[[list[str], Path | None, dict[str, str]], list[Provider]] = provider.choose


AGGREGATION = Bench(
    "aggregation",
    aggregation.measure,
    asdict(aggregation.Sizes()),
    asdict(aggregation.QUICK),
    aggregation.REPS,
    aggregation.FIGURES,
    aggregation.STATE_PART,
    aggregation.GOALS,
    (*provider.NAMES, provider.HASHMAP),
)
INCREMENTAL = Bench(
    "incremental",
    incremental.measure,
    asdict(incremental.Sizes()),
    asdict(incremental.QUICK),
    incremental.REPS,
    incremental.FIGURES,
    incremental.STATE_PART,
    incremental.GOALS,
)
RESTART = Bench(
    "restart",
    restart.measure,
    asdict(restart.Sizes(state=incremental.Sizes())),
    asdict(replace(restart.Sizes(), state=incremental.QUICK)),
    restart.REPS,
    restart.FIGURES,
    restart.STATE_PART,
    restart.GOALS,
)


def keyed_bench(name: str, sizes: keyed.Sizes, goals: list[Goal]) -> Bench:
    quick = replace(sizes, warm_up=3, batches=4, slow_rows=10_000, slow_batches=1)
    return Bench(
        name,
        keyed.measure,
        asdict(sizes),
        asdict(quick),
        keyed.REPS,
        keyed.FIGURES,
        (),
        goals,
        keyed.NAMES,
        keyed.choose,
    )


KEYED = (
    keyed_bench("keyed-few", keyed.FEW, keyed.FEW_GOALS),
    keyed_bench("keyed-many", keyed.MANY, keyed.MANY_GOALS),
    keyed_bench("keyed-map", keyed.MAP, keyed.MAP_GOALS),
)
LATENCY = Bench(
    "keyed-latency",
    latency.measure,
    asdict(latency.Sizes()),
    asdict(latency.QUICK),
    latency.REPS,
    latency.FIGURES,
    (),
    latency.GOALS,
    latency.NAMES,
    latency.choose,
)
WORKERS = Bench(
    "keyed-memory",
    workers.measure,
    asdict(workers.Sizes()),
    asdict(workers.QUICK),
    workers.REPS,
    workers.FIGURES,
    (),
    workers.GOALS,
    workers.NAMES,
    workers.choose,
)
SLOW = Bench(
    "slow-store",
    slow.measure,
    asdict(slow.Sizes()),
    asdict(slow.QUICK),
    slow.REPS,
    slow.FIGURES,
    (),
    slow.GOALS,
    slow.NAMES,
    slow.choose,
)
MERGING = Bench(
    "file-merging",
    merging.measure,
    asdict(merging.Sizes()),
    asdict(merging.QUICK),
    merging.REPS,
    merging.FIGURES,
    (),
    merging.GOALS,
    merging.NAMES,
    merging.choose,
)
TAB = Bench(
    "checkpoints-tab",
    tab.measure,
    asdict(tab.Sizes()),
    asdict(tab.QUICK),
    tab.REPS,
    tab.FIGURES,
    (),
    tab.GOALS,
    tab.NAMES,
    tab.choose,
)
RECOVERY = Bench(
    "recovery",
    recovery.measure,
    asdict(recovery.Sizes()),
    asdict(recovery.QUICK),
    recovery.REPS,
    recovery.FIGURES,
    (),
    recovery.GOALS,
    recovery.NAMES,
    recovery.choose,
)
BENCHES = {
    bench.name: bench
    for bench in (AGGREGATION, INCREMENTAL, RESTART, *KEYED, LATENCY, WORKERS, SLOW, MERGING, TAB, RECOVERY)
}
