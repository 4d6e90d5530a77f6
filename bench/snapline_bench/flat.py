"""Whether something stays flat: how much it grows over the second half of a run, by a straight line through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Point:
    """`life`: of the process that was measured; what outlives processes has one life."""

    at: float
    value: float
    life: int = 0


@dataclass(frozen=True)
class Trend:
    """`level`: mean over the second half. `growth`: what the line gains over it, relative to the level."""

    level: float
    growth: float
    points: int


def trend(points: Sequence[Point], end: float) -> Trend | None:
    """
    The line has one slope, and a height of its own for each life: a process that starts anew is no growth, and none
    that it begins lower than the one before had ended hides any.

    Args:
        end: when the run ended; it began at 0.

    Returns:
        None: fewer than three points, or no life with two different times.
    """
    half = [point for point in points if point.at >= end / 2]
    if len(half) < 3:
        return None
    at = np.array([point.at for point in half], float)
    values = np.array([point.value for point in half], float)
    level = float(values.mean())
    for life in {point.life for point in half}:
        mine = np.array([point.life == life for point in half])
        at[mine] -= at[mine].mean()
        values[mine] -= values[mine].mean()
    spread = float(at @ at)
    if spread == 0:
        return None
    gained = float(at @ values) / spread * end / 2
    return Trend(level, gained / level if level else 0.0, len(half))
