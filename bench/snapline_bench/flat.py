"""Whether something stays flat: how much it grows over a part of a run, by a straight line through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Point:
    at: float
    value: float


@dataclass(frozen=True)
class Trend:
    """`level`: the median. `growth`: what a line through the points gains from first to last, relative to it."""

    level: float
    growth: float
    points: int


def trend(points: Sequence[Point]) -> Trend | None:
    """
    The line's slope is the median of the slopes between any two points (Theil and Sen): a moment that stands out, such
    as one with a batch in the middle of its work, does not turn it.

    Returns:
        None: fewer than three points, or all of one moment.
    """
    if len(points) < 3:
        return None
    at = np.array([point.at for point in points], float)
    values = np.array([point.value for point in points], float)
    first, second = np.triu_indices(len(points), 1)
    apart = at[second] - at[first]
    if not apart.any():
        return None
    between = apart != 0
    slope = float(np.median((values[second] - values[first])[between] / apart[between]))
    level = float(np.median(values))
    return Trend(level, slope * float(at.max() - at.min()) / level if level else 0.0, len(points))
