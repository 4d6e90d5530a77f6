"""Processors written for Spark's transformWithState. None of them knows of Snapline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

SECOND = 1000


class Everything(StatefulProcessor):
    """Keeps a value, a list and a map, and one timer that moves with each row."""

    OUTPUT = "k string, what string, n long, seen array<long>, counts map<string, long>, timers array<long>"

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", "n long, at long")
        self.seen = handle.getListState("seen", "n long")
        self.counts = handle.getMapState("counts", "name string", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        total, at = self.total.get() if self.total.exists() else (0, None)
        for row in sorted(rows, key=lambda row: row.n):
            total += row.n
            name = row["name"]
            count = self.counts.getValue((name,))[0] + 1 if self.counts.containsKey((name,)) else 1
            self.counts.updateValue((name,), (count,))
            if row.n % 2:
                self.seen.appendValue((row.n,))
            else:
                self.seen.appendList([(row.n,), (-row.n,)])
            if at is not None:
                self.handle.deleteTimer(at)
            at = row.ms + 10 * SECOND
            self.handle.registerTimer(at)
            self.handle.registerTimer(row.ms + 60 * SECOND)
        self.total.update((total, at))
        if self.counts.exists() and self.counts.containsKey(("gone",)):
            self.counts.removeKey(("gone",))
        yield self._row(key, "rows", total)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        total, at = self.total.get()
        yield self._row(key, f"timer {expiredTimerInfo.getExpiryTimeInMs()}", total)
        if at == expiredTimerInfo.getExpiryTimeInMs():
            self.seen.clear()
            self.total.update((total, None))

    def _row(self, key: Any, what: str, n: int) -> Row:
        return Row(
            k=key[0],
            what=what,
            n=n,
            seen=[value for (value,) in self.seen.get()] if self.seen.exists() else [],
            counts={name: count for (name,), (count,) in self.counts.iterator()},
            timers=sorted(self.handle.listTimers()),
        )

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:
        self.total.update((initialState.before, None))
        self.seen.put([(1,), (2,)])
        for name in initialState.names:
            self.counts.updateValue((name,), (100,))


class Expiring(StatefulProcessor):
    """States that live for no time at all, beside one that stays."""

    OUTPUT = "a long, b string, kept long, short long"

    def init(self, handle: Any) -> None:
        self.kept = handle.getValueState("kept", "n long")
        self.short = handle.getValueState("short", "n long", ttlDurationMs=1)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        n = sum(1 for _ in rows)
        kept = self.kept.get()[0] if self.kept.exists() else 0
        short = self.short.get()[0] if self.short.exists() else 0
        self.kept.update((kept + n,))
        self.short.update((short + n,))
        # The names are in another order than the output's.
        yield Row(b=key[1], a=key[0], short=short + n, kept=kept + n)


class Frames(StatefulProcessor):
    """A processor of pandas frames."""

    OUTPUT = "k string, rows long, most long"

    def init(self, handle: Any) -> None:
        self.most = handle.getValueState("most", "rows long, most long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        import pandas as pd

        count, most = self.most.get() if self.most.exists() else (0, 0)
        for frame in rows:
            count, most = count + len(frame), max(most, int(frame["n"].max()))
        self.most.update((count, most))
        yield pd.DataFrame({"k": [key[0]], "rows": [count], "most": [most]})

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self.most.update((int(initialState["before"].sum()), 0))
