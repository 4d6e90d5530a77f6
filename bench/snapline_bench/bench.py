"""The benches by name: what each measures in a fresh process, and how its figures are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyspark

from snapline_bench import (
    aggregation,
    asynchronous,
    at_least_once,
    broadcast,
    connect,
    eviction,
    firing,
    incremental,
    initial_state,
    keyed,
    latency,
    local_files,
    lost_executor,
    many_stores,
    merging,
    nexmark,
    nexmark_growth,
    nexmark_parts,
    outgrown,
    processor,
    provider,
    real_time,
    real_time_soak,
    recovery,
    rescale,
    restart,
    savepoint,
    scaling,
    scaling_sheets,
    sink,
    skew,
    slow,
    soak,
    tab,
    two_inputs,
    visible,
    windows,
    workers,
)
from snapline_bench.goal import Goal
from snapline_bench.job import Job, Result
from snapline_bench.provider import Provider
from snapline_bench.sheet import Sheet


def no_sheets(runs: list[dict[str, Any]]) -> list[Sheet]:
    return []


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
    sheets: Callable[[list[dict[str, Any]]], list[Sheet]] = no_sheets
    #: The first line of Spark that it runs on.
    line: str = "4.2"

    @property
    def fits(self) -> bool:
        """Whether it runs on this Spark."""
        return [int(part) for part in self.line.split(".")] <= [
            int(part) for part in pyspark.__version__.split(".")[:2]
        ]

    @property
    def title(self) -> str:
        """The first sentence of the module that measures."""
        return (sys.modules[self.measure.__module__].__doc__ or "").strip().partition("\n")[0]


def bench_of(name: str, module: Any) -> Bench:
    """Of a module that says everything by these names; what it need not say has the default."""
    return Bench(
        name,
        module.measure,
        asdict(module.Sizes()),
        asdict(module.QUICK),
        module.REPS,
        module.FIGURES,
        getattr(module, "STATE_PART", ()),
        module.GOALS,
        getattr(module, "NAMES", provider.NAMES),
        getattr(module, "choose", provider.choose),
        getattr(module, "sheets", no_sheets),
        getattr(module, "LINE", "4.2"),
    )


AGGREGATION = replace(bench_of("aggregation", aggregation), names=(*provider.NAMES, provider.HASHMAP))
INCREMENTAL = bench_of("incremental", incremental)
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
    quick = replace(sizes, warm_up=2, batches=3, slow_rows=10_000, slow_batches=1)
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


def windows_bench(name: str, sizes: windows.Sizes) -> Bench:
    return Bench(
        name,
        windows.measure,
        asdict(sizes),
        asdict(replace(sizes, warm_up=2, batches=4)),
        windows.REPS,
        windows.FIGURES,
        (),
        windows.GOALS,
        windows.NAMES,
        windows.choose,
    )


WINDOWS = (windows_bench("windows-few", windows.FEW), windows_bench("windows-many", windows.MANY))
FIRING = bench_of("windows-firing", firing)
EVICTION = bench_of("eviction", eviction)
OUTGROWN = bench_of("outgrown", outgrown)
INITIAL_STATE = bench_of("initial-state", initial_state)
PROCESSOR = bench_of("processor", processor)
NEXMARK = bench_of("nexmark", nexmark)
NEXMARK_GROWTH = bench_of("nexmark-growth", nexmark_growth)
NEXMARK_PARTS = bench_of("nexmark-parts", nexmark_parts)
TWO_INPUTS = bench_of("two-inputs", two_inputs)
CONNECT = bench_of("connect", connect)
LOST_EXECUTOR = bench_of("lost-executor", lost_executor)
ASYNCHRONOUS = bench_of("asynchronous", asynchronous)
SINK = bench_of("sink", sink)
VISIBLE = bench_of("sink-visible", visible)
REAL_TIME = bench_of("real-time", real_time)
REAL_TIME_SHORT = replace(
    REAL_TIME,
    name="real-time-short",
    sizes=asdict(real_time.SHORT),
    quick=asdict(real_time.SHORT_QUICK),
    figures=real_time.figures_of(real_time.SHORT),
    goals=real_time.short_goals(),
    names=real_time.SHORT_NAMES,
)
REAL_TIME_SOAK = bench_of("real-time-soak", real_time_soak)
LATENCY = bench_of("keyed-latency", latency)
WORKERS = bench_of("keyed-memory", workers)
LOCAL_FILES = bench_of("local-files", local_files)
SLOW = bench_of("slow-store", slow)
MERGING = bench_of("file-merging", merging)
MANY_STORES = bench_of("many-stores", many_stores)
TAB = bench_of("checkpoints-tab", tab)
RECOVERY = bench_of("recovery", recovery)
BROADCAST = bench_of("broadcast", broadcast)
AT_LEAST_ONCE = bench_of("at-least-once", at_least_once)
SKEW = bench_of("skew", skew)
SAVEPOINT = bench_of("savepoint", savepoint)
RESCALE = bench_of("rescale", rescale)
SOAK = bench_of("soak", soak)
SCALING = replace(bench_of("scaling", scaling), sheets=scaling_sheets.sheets)
BENCHES = {
    bench.name: bench
    for bench in (
        AGGREGATION,
        INCREMENTAL,
        RESTART,
        EVICTION,
        OUTGROWN,
        NEXMARK,
        NEXMARK_GROWTH,
        NEXMARK_PARTS,
        *KEYED,
        *WINDOWS,
        FIRING,
        TWO_INPUTS,
        CONNECT,
        LOST_EXECUTOR,
        ASYNCHRONOUS,
        INITIAL_STATE,
        PROCESSOR,
        SINK,
        VISIBLE,
        REAL_TIME,
        REAL_TIME_SHORT,
        REAL_TIME_SOAK,
        LATENCY,
        WORKERS,
        LOCAL_FILES,
        SLOW,
        MERGING,
        MANY_STORES,
        TAB,
        RECOVERY,
        BROADCAST,
        AT_LEAST_ONCE,
        SKEW,
        SAVEPOINT,
        RESCALE,
        SOAK,
        SCALING,
    )
}
