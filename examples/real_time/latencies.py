"""Latencies as they are shown: percentiles and a histogram, of the last seconds and of all."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

import numpy as np
from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

BOUNDS_MS = (2, 5, 10, 20, 50, 100, 200, 500, 1_000)
LABELS = (*(f"up to {bound:,}" for bound in BOUNDS_MS), f"over {BOUNDS_MS[-1]:,}")
RECENT_S = 5.0
BAR_WIDTH = 40


class Latencies:
    """Milliseconds from before a row was sent until after its result was seen."""

    def __init__(self) -> None:
        self._all: list[float] = []
        self._recent: deque[tuple[float, float]] = deque()

    def add(self, latency_ms: float, at_s: float) -> None:
        """One more, that was seen at that moment."""
        self._all.append(latency_ms)
        self._recent.append((at_s, latency_ms))
        while self._recent[0][0] < at_s - RECENT_S:
            self._recent.popleft()

    def view(self, title: str) -> Group:
        """A table of percentiles above the histogram of all."""
        percentiles = Table("", "rows", "p50 ms", "p90 ms", "p99 ms", "most ms", title=title)
        for label, found in (
            (f"the last {RECENT_S:.0f} s", [ms for _, ms in self._recent]),
            ("all", self._all),
        ):
            if found:
                figures = [*np.percentile(found, [50, 90, 99]), max(found)]
                percentiles.add_row(label, f"{len(found):,}", *(f"{figure:,.1f}" for figure in figures))
        counts = [0] * len(LABELS)
        for ms in self._all:
            counts[bisect_left(BOUNDS_MS, ms)] += 1
        histogram = Table("ms", "rows", "", box=None, pad_edge=False)
        histogram.columns[0].justify = histogram.columns[1].justify = "right"
        for label, count in zip(LABELS, counts, strict=True):
            bar = ProgressBar(total=max(*counts, 1), completed=count, width=BAR_WIDTH)
            histogram.add_row(label, f"{count:,}", bar)
        return Group(percentiles, Text(), histogram)
