"""Counters and gauges, which reach Spark's progress report."""

from __future__ import annotations

from collections.abc import Callable

from snapline.errors import InvalidConfiguration


class Counter:
    """A number that is counted up."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def inc(self, n: int = 1) -> None:
        """Adds."""
        self.count += n

    def dec(self, n: int = 1) -> None:
        """Subtracts."""
        self.count -= n

    def get_count(self) -> int:
        """The number of this task, in this micro-batch."""
        return self.count


class MetricGroup:
    """The metrics of a function. Spark adds up those of one name over all tasks of a micro-batch."""

    def __init__(self) -> None:
        self._metrics: dict[str, Callable[[], float]] = {}

    def counter(self, name: str) -> Counter:
        """A new counter.

        Raises:
            InvalidConfiguration: the name is taken.
        """
        counter = Counter()
        self.gauge(name, counter.get_count)
        return counter

    def gauge(self, name: str, function: Callable[[], float]) -> None:
        """A number that is asked for at the end of a task; Spark's metrics are whole numbers, so it is rounded.

        Raises:
            InvalidConfiguration: the name is taken.
        """
        if not isinstance(name, str) or not name or name in self._metrics:
            raise InvalidConfiguration(f"a second metric named {name!r}, or no name.", "name each metric once.")
        self._metrics[name] = function

    @property
    def names(self) -> list[str]:
        return list(self._metrics)

    def values(self) -> dict[str, int]:
        return {name: round(function()) for name, function in self._metrics.items()}
