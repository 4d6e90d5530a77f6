"""Counters, meters, distributions and gauges, which reach Spark's progress report."""

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


class Meter:
    """Counts events whose rate is wanted: Spark's progress has the duration of the micro-batch beside the count."""

    __slots__ = ("_events",)

    def __init__(self, events: Counter) -> None:
        self._events = events

    def mark_event(self, value: int = 1) -> None:
        """So many events have happened."""
        self._events.inc(value)

    def get_count(self) -> int:
        """The events of this task, in this micro-batch."""
        return self._events.count


class Distribution:
    """Counts values and adds them up, so that their mean over all tasks is known."""

    __slots__ = ("count", "sum")

    def __init__(self) -> None:
        self.count = 0
        self.sum: float = 0

    def update(self, value: float) -> None:
        """Adds a value."""
        self.count += 1
        self.sum += value


class MetricGroup:
    """The metrics of a function. Spark adds up those of one name over all tasks of a micro-batch."""

    def __init__(self, prefix: str = "", metrics: dict[str, Callable[[], float]] | None = None) -> None:
        self._prefix = prefix
        self._metrics: dict[str, Callable[[], float]] = {} if metrics is None else metrics

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group within this one: the names of its metrics begin with its own, and a dot.

        Args:
            name: the name of the group.
            extra: a second name after it, as the value of a variable.
        """
        return MetricGroup(self._prefix + ".".join(filter(None, (name, extra))) + ".", self._metrics)

    def counter(self, name: str) -> Counter:
        """A new counter.

        Raises:
            InvalidConfiguration: the name is taken.
        """
        counter = Counter()
        self.gauge(name, counter.get_count)
        return counter

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A new meter. The metric of its name is the number of events.

        Args:
            name: its name.
            time_span_in_seconds: ignored, since the rate is that of a micro-batch.

        Raises:
            InvalidConfiguration: the name is taken.
        """
        return Meter(self.counter(name))

    def distribution(self, name: str) -> Distribution:
        """A new distribution: the metrics ``<name>Count`` and ``<name>Sum``. Spark's can be added and no more, so that
        there is no least and no greatest value.

        Raises:
            InvalidConfiguration: a name is taken.
        """
        distribution = Distribution()
        self.gauge(f"{name}Count", lambda: distribution.count)
        self.gauge(f"{name}Sum", lambda: distribution.sum)
        return distribution

    def gauge(self, name: str, function: Callable[[], float]) -> None:
        """A number that is asked for at the end of a task; Spark's metrics are whole numbers, so it is rounded.

        Raises:
            InvalidConfiguration: the name is taken.
        """
        whole = f"{self._prefix}{name}"
        if not isinstance(name, str) or not name or whole in self._metrics:
            raise InvalidConfiguration(f"a second metric named {whole!r}, or no name.", "name each metric once.")
        self._metrics[whole] = function

    @property
    def names(self) -> list[str]:
        return list(self._metrics)

    def values(self) -> dict[str, int]:
        return {name: round(function()) for name, function in self._metrics.items()}
