"""Flink's window operator row by row and timer by timer, in plain Python: windows are pairs, timers a set of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Span = tuple[int, int]


def tumbling(size: int, offset: int) -> Callable[[int], list[Span]]:
    return sliding(size, size, offset)


def sliding(size: int, slide: int, offset: int) -> Callable[[int], list[Span]]:
    """All windows that begin at a multiple of the slide and have the time in them, the last first."""

    def assign(time: int) -> list[Span]:
        starts = [start for start in range(time, time - size, -1) if (start - offset) % slide == 0]
        return [(start, start + size) for start in starts]

    return assign


def cumulative(size: int, step: int, offset: int) -> Callable[[int], list[Span]]:
    def assign(time: int) -> list[Span]:
        (whole,) = tumbling(size, offset)(time)
        return [(whole[0], end) for end in range(whole[0] + step, whole[1] + 1, step) if end > time]

    return assign


def session(gap: int) -> Callable[[int], list[Span]]:
    return lambda time: [(time, time + gap)]


@dataclass
class Pane:
    """A window of a key: its rows, and what the trigger keeps."""

    rows: list[int] = field(default_factory=list)
    count: int = 0
    fires_at: int | None = None


@dataclass
class Reference:
    """The windows of one key.

    Attributes:
        assign: the windows of a time.
        merges: windows that overlap or touch become one.
        count: the trigger fires at so many rows; None: it goes by the watermark.
        interval: the trigger fires at multiples of it besides.
        purges: what has fired is deleted.
        lateness: how long after its end a window takes rows.
    """

    assign: Callable[[int], list[Span]]
    merges: bool
    count: int | None
    interval: int | None
    purges: bool
    lateness: int
    panes: dict[Span, Pane] = field(default_factory=dict)
    timers: set[tuple[int, Span]] = field(default_factory=set)
    fired: list[tuple[Span, tuple[int, ...]]] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    watermark: int = 0

    def row(self, time: int, value: int) -> None:
        is_taken = False
        for window in self.assign(time):
            found = self._merge(window) if self.merges else window
            if self._end(found) <= self.watermark:
                self.panes.pop(found, None)
                continue
            is_taken = True
            pane = self.panes.setdefault(found, Pane())
            pane.rows.append(value)
            if self._on_row(found, pane, time):
                self._fire(found, pane)
            self.timers.add((self._end(found), found))
        if not is_taken and time + self.lateness <= self.watermark:
            self.late.append(value)

    def _end(self, window: Span) -> int:
        return window[1] - 1 + self.lateness

    def _on_row(self, window: Span, pane: Pane, time: int) -> bool:
        if self.count is not None:
            pane.count += 1
            if pane.count < self.count:
                return False
            pane.count = 0
            return True
        if window[1] - 1 <= self.watermark:
            return True
        self.timers.add((window[1] - 1, window))
        if self.interval is not None and pane.fires_at is None:
            self._wait(window, pane, time - time % self.interval)
        return False

    def _wait(self, window: Span, pane: Pane, time: int) -> None:
        assert self.interval is not None
        pane.fires_at = min(time + self.interval, window[1] - 1)
        self.timers.add((pane.fires_at, window))

    def _merge(self, window: Span) -> Span:
        touched = [each for each in self.panes if each[0] <= window[1] and each[1] >= window[0]]
        if not touched or (len(touched) == 1 and touched[0][0] <= window[0] and touched[0][1] >= window[1]):
            return touched[0] if touched else window
        whole = min(window[0], *(start for start, _ in touched)), max(window[1], *(end for _, end in touched))
        merged = Pane()
        for each in sorted(touched):
            pane = self.panes.pop(each)
            merged.rows += pane.rows
            merged.count += pane.count
            if pane.fires_at is not None:
                merged.fires_at = min(pane.fires_at, merged.fires_at or pane.fires_at)
            self.timers = {timer for timer in self.timers if timer[1] != each}
        self.panes[whole] = merged
        if merged.fires_at is not None:
            self.timers.add((merged.fires_at, whole))
        if self.count is None and self.interval is None and whole[1] - 1 > self.watermark:
            self.timers.add((whole[1] - 1, whole))
        return whole

    def _fire(self, window: Span, pane: Pane) -> None:
        if pane.rows:
            self.fired.append((window, tuple(sorted(pane.rows))))
        if self.purges:
            pane.rows.clear()

    def advance(self, watermark: int) -> None:
        self.watermark = max(self.watermark, watermark)
        while due := sorted(timer for timer in self.timers if timer[0] <= self.watermark):
            time, window = due[0]
            self.timers.remove(due[0])
            pane = self.panes.get(window)
            if pane is None:
                continue
            if self.count is None and self._on_timer(window, pane, time):
                self._fire(window, pane)
            if time == self._end(window):
                del self.panes[window]

    def _on_timer(self, window: Span, pane: Pane, time: int) -> bool:
        if time == window[1] - 1:
            return True
        if self.interval is None or pane.fires_at != time:
            return False
        self._wait(window, pane, time)
        return True
