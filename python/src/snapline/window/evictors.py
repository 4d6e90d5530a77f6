"""Evictors: they remove rows from a window before or after it is evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from snapline.errors import InvalidConfiguration
from snapline.window.span import Span, millis_of


class TimestampedValue(NamedTuple):
    """A row, and its event time in ms; None without one."""

    value: Any
    timestamp: int | None


class EvictorContext(NamedTuple):
    """The times, in ms, that an evictor may go by."""

    current_processing_time: int
    current_watermark: int


class Evictor(ABC):
    """Says which rows of a window stay. The rows are in the order in which they came."""

    def is_bounded(self) -> bool:
        """Whether so many rows of a window stay at most, or rows of so much time.

        A window that never ends, as of GlobalWindows, takes such an evictor, or a trigger that purges.
        """
        return False

    @abstractmethod
    def evict_before(
        self, elements: Sequence[TimestampedValue], window: Any, ctx: EvictorContext
    ) -> Sequence[TimestampedValue]:
        """The rows that the function sees: the others are deleted."""

    @abstractmethod
    def evict_after(
        self, elements: Sequence[TimestampedValue], window: Any, ctx: EvictorContext
    ) -> Sequence[TimestampedValue]:
        """The rows that stay after the function has seen them."""


class _OnOneSide(Evictor):
    """Evicts before the function, or after it."""

    def __init__(self, do_evict_after: bool) -> None:
        self._after = do_evict_after

    def evict_before(
        self, elements: Sequence[TimestampedValue], window: Any, ctx: EvictorContext
    ) -> Sequence[TimestampedValue]:
        return elements if self._after else self._rest(elements)

    def evict_after(
        self, elements: Sequence[TimestampedValue], window: Any, ctx: EvictorContext
    ) -> Sequence[TimestampedValue]:
        return self._rest(elements) if self._after else elements

    @abstractmethod
    def _rest(self, elements: Sequence[TimestampedValue]) -> Sequence[TimestampedValue]:
        """The rows that stay."""


class CountEvictor(_OnOneSide):
    """Keeps the last rows."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if type(max_count) is not int or max_count < 1:
            raise InvalidConfiguration(f"CountEvictor of {max_count!r}.", "give a whole number from 1 on.")
        self._most = max_count

    def is_bounded(self) -> bool:
        return True

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Keeps ``max_count`` rows."""
        return CountEvictor(max_count, do_evict_after)

    def _rest(self, elements: Sequence[TimestampedValue]) -> Sequence[TimestampedValue]:
        return elements[-self._most :]


class TimeEvictor(_OnOneSide):
    """Keeps the rows that are not much older than the newest; all of them where rows have no time."""

    def __init__(self, window_size: Span, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._size = millis_of(window_size, "the size of TimeEvictor")

    def is_bounded(self) -> bool:
        return True

    @staticmethod
    def of(window_size: Span, do_evict_after: bool = False) -> TimeEvictor:
        """Keeps rows that are less than ``window_size`` older than the newest."""
        return TimeEvictor(window_size, do_evict_after)

    def _rest(self, elements: Sequence[TimestampedValue]) -> Sequence[TimestampedValue]:
        newest = max((each.timestamp for each in elements if each.timestamp is not None), default=None)
        if newest is None:
            return elements
        oldest = newest - self._size
        return [each for each in elements if each.timestamp is None or each.timestamp > oldest]


class DeltaEvictor(_OnOneSide):
    """Keeps the rows that differ from the newest by less than a threshold."""

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after)
        if not callable(delta_function):
            raise InvalidConfiguration(
                f"the delta function of DeltaEvictor is {delta_function!r}.", "give a function of two rows."
            )
        self._threshold = threshold
        self._delta = delta_function

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False) -> DeltaEvictor:
        """Keeps rows for which ``delta_function(row, newest)`` is less than ``threshold``."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _rest(self, elements: Sequence[TimestampedValue]) -> Sequence[TimestampedValue]:
        newest = elements[-1].value
        return [each for each in elements if self._delta(each.value, newest) < self._threshold]
