"""The benches by name: what each measures in a fresh process, and how its figures are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from snapline_bench import aggregation, incremental, restart
from snapline_bench.goal import Goal
from snapline_bench.job import Job, Result


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


AGGREGATION = Bench(
    "aggregation",
    aggregation.measure,
    asdict(aggregation.Sizes()),
    asdict(aggregation.QUICK),
    aggregation.REPS,
    aggregation.FIGURES,
    aggregation.STATE_PART,
    aggregation.GOALS,
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

BENCHES = {bench.name: bench for bench in (AGGREGATION, INCREMENTAL, RESTART)}
