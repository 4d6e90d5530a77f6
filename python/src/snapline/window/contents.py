"""The contents of windows: an accumulator, or the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql.types import ArrayType, StructType

from snapline.functions.context import RuntimeContext
from snapline.state.descriptors import MapStateDescriptor, Prefetch
from snapline.state.stored_map import StoredMap
from snapline.state.weight import average_weight
from snapline.window.folding import Fold

_CONTENTS, _COUNT = "window-contents", "window-count"
#: Bounds of a piece of the rows of a window.
_MOST_ROWS, _MOST_BYTES = 1_000, 1 << 20


class Contents(ABC):
    """The contents of the windows of a key, each by the window's key."""

    @abstractmethod
    def open(self, ctx: RuntimeContext, window: str) -> None:
        """Asks for the state; ``window`` is the type of a window's key."""

    @abstractmethod
    def add(self, window: Any, row: Any) -> bool:
        """Adds a row; whether there was nothing in the window."""

    @abstractmethod
    def elements(self, window: Any) -> Sequence[Any] | None:
        """The elements for a window function; None: there is nothing in the window."""

    @abstractmethod
    def clear(self, window: Any) -> None:
        """Deletes all."""

    @abstractmethod
    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Moves what the windows ``sources`` have to ``target``."""


class FoldedContents(Contents):
    """An accumulator for each window; a window function is given its result alone."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold

    def open(self, ctx: RuntimeContext, window: str) -> None:
        self._accumulators: StoredMap = ctx._stored_map(
            MapStateDescriptor[Any, Any](_CONTENTS, window, self._fold.type)
        )
        self._first, self._next = self._fold.first, self._fold.next

    def add(self, window: Any, row: Any) -> bool:
        accumulators = self._accumulators
        accumulator = accumulators.get(window)
        if accumulator is None:
            accumulators.put(window, self._first(row))
            return True
        accumulators.put(window, self._next(row, accumulator))
        return False

    def elements(self, window: Any) -> Sequence[Any] | None:
        accumulator = self._accumulators.get(window)
        return None if accumulator is None else (self._fold.result(accumulator),)

    def clear(self, window: Any) -> None:
        self._accumulators.remove(window)

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        for source in sources:
            added = self._accumulators.get(source)
            if added is not None:
                self.clear(source)
                there = self._accumulators.get(target)
                self._accumulators.put(target, added if there is None else self._fold.merge(there, added))


class RowContents(Contents):
    """All rows of each window, in numbered pieces: rows are added without those before being read or written.

    A piece has the rows of one epoch, or some of them.

    Args:
        row_type: the type of the rows.
        fires_by_time: the rows are looked at when a timer fires, and seldom otherwise.
    """

    def __init__(self, row_type: StructType, *, fires_by_time: bool) -> None:
        self._row_type = row_type
        self._prefetch: Prefetch = "timers" if fires_by_time else True

    def open(self, ctx: RuntimeContext, window: str) -> None:
        number = f"struct<window: {window}, number: long>"
        pieces = MapStateDescriptor[Any, Any](_CONTENTS, number, ArrayType(self._row_type), prefetch=self._prefetch)
        # Rows come as the store keeps them.
        self._pieces = ctx._stored_map(pieces, values=True)
        self._counts = ctx._stored_map(MapStateDescriptor[Any, Any](_COUNT, window, "long"))
        self._most = _MOST_ROWS

    def add(self, window: Any, row: Any) -> bool:
        pieces = self._pieces
        count = self._counts.get(window) or 0
        if count:
            piece = pieces.put_before((window, count - 1))
            if piece is not None and len(piece) < self._most:
                piece.append(row)
                return False
        self._most = max(1, min(_MOST_ROWS, _MOST_BYTES // average_weight([row])))
        pieces.put((window, count), [row])
        self._counts.put(window, count + 1)
        return count == 0

    def elements(self, window: Any) -> Sequence[Any] | None:
        count = self._counts.get(window) or 0
        if not count:
            return None
        pieces = self._pieces.get_all([(window, number) for number in range(count)])
        return [row for piece in pieces.values() for row in piece or ()]

    def clear(self, window: Any) -> None:
        for number in range(self._counts.get(window) or 0):
            self._pieces.remove((window, number))
        self._counts.remove(window)

    def replace(self, window: Any, rows: Sequence[Any]) -> None:
        """These rows instead of those there were."""
        self.clear(window)
        for row in rows:
            self.add(window, row)

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        for source in sources:
            rows = self.elements(source)
            if rows:
                self.clear(source)
                for row in rows:
                    self.add(target, row)
