from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from snapline.errors import InvalidConfiguration
from snapline.query import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
    RestartStrategy,
)


def delays(strategy: RestartStrategy, runs: Sequence[float]) -> list[float | None]:
    """What it says after each failure, when the query runs for so many seconds before each."""
    now = 1_000_000.0
    failures: list[float] = []
    said: list[float | None] = []
    for run in runs:
        now += run
        failures.append(now)
        said.append(strategy.next_delay(now, failures))
        now += said[-1] or 0
    return said


def test_none() -> None:
    assert delays(NoRestart(), [5]) == [None]


def test_fixed_delay() -> None:
    assert delays(FixedDelayRestart(), [5, 9999]) == [1, None]
    assert delays(FixedDelayRestart(attempts=3, delay=10), [0] * 4) == [10, 10, 10, None]
    assert delays(FixedDelayRestart(attempts=0), [0]) == [None]


def test_failure_rate() -> None:
    assert delays(FailureRateRestart(), [5, 5]) == [1, None]
    assert delays(FailureRateRestart(), [5, 61, 61]) == [1, 1, 1]
    strategy = FailureRateRestart(max_failures_per_interval=3, failure_rate_interval=300, delay=10)
    assert delays(strategy, [0, 80, 80, 111, 80, 20]) == [10, 10, 10, 10, 10, None]


def test_exponential_delay() -> None:
    strategy = ExponentialDelayRestart(jitter_factor=0)
    assert delays(strategy, [0] * 4) == [1, 1.5, 2.25, 3.375]
    assert delays(strategy, [0] * 20)[-1] == 60
    # An hour without a failure, the delay not counted.
    assert delays(strategy, [0, 0, 3599, 3600, 0]) == [1, 1.5, 2.25, 1, 1.5]


def test_exponential_delay_gives_up_if_told_so() -> None:
    strategy = ExponentialDelayRestart(jitter_factor=0, attempts_before_reset_backoff=2)
    assert delays(strategy, [0, 0, 0]) == [1, 1.5, None]
    assert delays(strategy, [0, 0, 3600, 0, 0]) == [1, 1.5, 1, 1.5, None]


@pytest.mark.parametrize(("chance", "expected"), [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)])
def test_jitter(chance: float, expected: float) -> None:
    strategy = ExponentialDelayRestart(chance=lambda: chance)
    assert delays(strategy, [0]) == pytest.approx([expected])
    assert (delays(strategy, [0] * 30)[-1] or 0) <= 60


@pytest.mark.parametrize(
    ("kind", "bad", "setting"),
    [
        (FixedDelayRestart, {"attempts": -1}, "fixed-delay.attempts"),
        (FixedDelayRestart, {"delay": -1}, "fixed-delay.delay"),
        (FailureRateRestart, {"max_failures_per_interval": 0}, "failure-rate.max-failures-per-interval"),
        (FailureRateRestart, {"failure_rate_interval": 0}, "failure-rate.failure-rate-interval"),
        (FailureRateRestart, {"delay": -1}, "failure-rate.delay"),
        (ExponentialDelayRestart, {"initial_backoff": 0}, "exponential-delay.initial-backoff"),
        (ExponentialDelayRestart, {"max_backoff": 0.5}, "exponential-delay.max-backoff"),
        (ExponentialDelayRestart, {"backoff_multiplier": 0.9}, "exponential-delay.backoff-multiplier"),
        (ExponentialDelayRestart, {"reset_backoff_threshold": 0}, "exponential-delay.reset-backoff-threshold"),
        (ExponentialDelayRestart, {"jitter_factor": 1.1}, "exponential-delay.jitter-factor"),
        (
            ExponentialDelayRestart,
            {"attempts_before_reset_backoff": 0},
            "exponential-delay.attempts-before-reset-backoff",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(kind: Any, bad: dict[str, Any], setting: str) -> None:
    with pytest.raises(InvalidConfiguration, match=setting):
        kind(**bad)
