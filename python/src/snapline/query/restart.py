"""Restart strategies: whether a failed query starts again, and after how long. Flink's, with its defaults.

They hold no state and read no clock: what they go by is the times at which the query has failed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from snapline.errors import InvalidConfiguration


class RestartStrategy(Protocol):
    """Decides after each failure."""

    def next_delay(self, now: float, failures: Sequence[float]) -> float | None:
        """Seconds to wait before the query starts again; None: it has failed for good.

        Args:
            now: in seconds, on the clock of ``failures``.
            failures: when the query failed since its start by hand, ascending; the last one is what it decides on.
        """


@dataclass(frozen=True)
class NoRestart:
    """The query fails with its first failure."""

    def next_delay(self, now: float, failures: Sequence[float]) -> float | None:
        return None


@dataclass(frozen=True, kw_only=True)
class FixedDelayRestart:
    """A number of attempts in all, each after the same time. ``delay`` in seconds.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    attempts: int = 1
    delay: float = 1.0

    def __post_init__(self) -> None:
        _check("fixed-delay.attempts", self.attempts, self.attempts >= 0, "0 or more")
        _check("fixed-delay.delay", self.delay, self.delay >= 0, "0 seconds or more")

    def next_delay(self, now: float, failures: Sequence[float]) -> float | None:
        return self.delay if len(failures) <= self.attempts else None


@dataclass(frozen=True, kw_only=True)
class FailureRateRestart:
    """Starts again as long as no more than a number of failures fall into an interval. Times in seconds.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    max_failures_per_interval: int = 1
    failure_rate_interval: float = 60.0
    delay: float = 1.0

    def __post_init__(self) -> None:
        most, interval = self.max_failures_per_interval, self.failure_rate_interval
        _check("failure-rate.max-failures-per-interval", most, most >= 1, "1 or more")
        _check("failure-rate.failure-rate-interval", interval, interval > 0, "more than 0 seconds")
        _check("failure-rate.delay", self.delay, self.delay >= 0, "0 seconds or more")

    def next_delay(self, now: float, failures: Sequence[float]) -> float | None:
        recent = failures[-self.max_failures_per_interval - 1 :]
        if len(recent) <= self.max_failures_per_interval:
            return self.delay
        return self.delay if now - recent[0] > self.failure_rate_interval else None


@dataclass(frozen=True, kw_only=True)
class ExponentialDelayRestart:
    """Waits longer after each failure; begins anew when the query has run well for a time. Times in seconds.

    Attributes:
        initial_backoff: after the first failure.
        max_backoff: the longest, jitter included.
        backoff_multiplier: from one failure to the next.
        reset_backoff_threshold: how long the query must run without a failure to begin anew.
        jitter_factor: the share of the delay that chance adds or takes away, so that queries do not start all at once.
        attempts_before_reset_backoff: how many attempts there are before it begins anew; None: any number.
        chance: a number from 0 to 1 (less than 1), for the jitter.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    initial_backoff: float = 1.0
    max_backoff: float = 60.0
    backoff_multiplier: float = 1.5
    reset_backoff_threshold: float = 3600.0
    jitter_factor: float = 0.1
    attempts_before_reset_backoff: int | None = None
    chance: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def __post_init__(self) -> None:
        def check(name: str, value: float, allowed: bool, wanted: str) -> None:
            _check(f"exponential-delay.{name}", value, allowed, wanted)

        check("initial-backoff", self.initial_backoff, self.initial_backoff >= 0.001, "1 ms or more")
        check("max-backoff", self.max_backoff, self.max_backoff >= self.initial_backoff, "initial-backoff or more")
        check("backoff-multiplier", self.backoff_multiplier, self.backoff_multiplier >= 1, "1 or more")
        threshold = self.reset_backoff_threshold
        check("reset-backoff-threshold", threshold, threshold >= 0.001, "1 ms or more")
        check("jitter-factor", self.jitter_factor, 0 <= self.jitter_factor <= 1, "a number from 0 to 1")
        attempts = self.attempts_before_reset_backoff
        if attempts is not None:
            check("attempts-before-reset-backoff", attempts, attempts >= 1, "1 or more, or None")

    def next_delay(self, now: float, failures: Sequence[float]) -> float | None:
        attempt, backoff, last = 0, self.initial_backoff, None
        for failure in failures:
            # The delay itself is no time in which the query ran well.
            if last is None or failure - last >= self.reset_backoff_threshold + backoff:
                attempt, backoff = 1, self.initial_backoff
            else:
                attempt, backoff = attempt + 1, min(backoff * self.backoff_multiplier, self.max_backoff)
            last = failure
        most = self.attempts_before_reset_backoff
        if most is not None and attempt > most:
            return None
        jitter = backoff * self.jitter_factor * (2 * self.chance() - 1)
        return min(backoff + jitter, self.max_backoff)


def _check(name: str, value: float, allowed: bool, wanted: str) -> None:
    if not allowed:
        raise InvalidConfiguration(f"restart-strategy.{name} is {value!r}.", f"set it to {wanted}.")
