"""Where the worker is: shared by all handles, so that moving to another key costs one store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from snapline.state.ttl import StateTtlConfig, TtlTime

NEVER = (1 << 63) - 1
BEFORE_ALL = -(1 << 63)


class Cursor:
    """The slot of the current key, and the event time of the current row or the time of the timer, in ms.

    Attributes:
        namespaced: the function's handles with namespaces, each of which holds its current one.
    """

    __slots__ = ("namespaced", "slot", "timestamp")

    def __init__(self) -> None:
        self.slot = -1
        self.timestamp: int | None = None
        self.namespaced: list[Any] = []

    def namespaces(self) -> list[Any]:
        """The current namespaces, for code that goes on after other code."""
        return [handle.namespace for handle in self.namespaced]

    def set_namespaces(self, namespaces: Sequence[Any]) -> None:
        """Puts namespaces back."""
        for handle, namespace in zip(self.namespaced, namespaces, strict=True):
            handle.namespace = namespace


@dataclass
class BatchTime:
    """The times of a micro-batch in ms; the watermark is None without one.

    A bounded DataFrame is a single batch, whose watermark is already that of its end. In real-time mode the clock goes
    on while the micro-batch lasts.

    Attributes:
        watermark: it comes after the rows: timers fire up to it.
        before_rows: the watermark that came before the rows, up to which the micro-batch before has fired timers.
    """

    processing: int
    watermark: int | None
    is_bounded: bool = False
    before_rows: int | None = None
    _clocks: list[TtlClock] = field(default_factory=list, compare=False, repr=False)

    def move_to(self, processing: int | None) -> None:
        """The time that a chunk names, as all do in real-time mode; None: time stands still in a micro-batch."""
        if processing is None:
            return
        self.processing = processing
        for clock in self._clocks:
            clock.move_to(processing)

    def clock(self, ttl: StateTtlConfig, cursor: Cursor) -> TtlClock:
        """A clock that goes on with this time."""
        self._clocks.append(TtlClock(ttl, self, cursor))
        return self._clocks[-1]


class TtlClock:
    """Expiry under one configuration. Within a micro-batch the time of the row changes, and in real-time mode the
    clock.
    """

    __slots__ = ("_cursor", "_is_event", "_ttl", "now")

    def __init__(self, ttl: StateTtlConfig, time: BatchTime, cursor: Cursor) -> None:
        self._cursor = cursor
        self._ttl = ttl.milliseconds
        self._is_event = ttl.time is TtlTime.EVENT_TIME
        #: A value that expires at or before this time has expired.
        self.now = time.processing
        if self._is_event:
            self.now = BEFORE_ALL if time.watermark is None or time.is_bounded else time.watermark

    def move_to(self, processing: int) -> None:
        """It is that time now."""
        if not self._is_event:
            self.now = processing

    def expiry(self) -> int:
        """The expiry of a value that is written now."""
        base = self.now
        # The watermark of a first batch is the epoch: what lived from there would be gone with the second.
        if self._is_event and self._cursor.timestamp is not None and self._cursor.timestamp > base:
            base = self._cursor.timestamp
        return base + self._ttl if base > BEFORE_ALL else NEVER

    def expiries(self, times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same for each of many values, from the time of its own row; BEFORE_ALL: the row has none."""
        base: npt.NDArray[np.int64] = np.full(len(times), self.now, np.int64)
        if self._is_event:
            base = np.maximum(base, times)
        found: npt.NDArray[np.int64] = np.where(base > BEFORE_ALL, base + self._ttl, np.int64(NEVER))
        return found
