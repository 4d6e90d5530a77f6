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
    """`level`: the mean. `growth`: what a line through the points gains from the first to the last, relative to it."""

    level: float
    growth: float
    points: int


def trend(points: Sequence[Point]) -> Trend | None:
    """By least squares; None: fewer than three points, or all of one moment."""
    if len(points) < 3:
        return None
    at = np.array([point.at for point in points], float)
    values = np.array([point.value for point in points], float)
    level = float(values.mean())
    lasted = float(at.max() - at.min())
    at -= at.mean()
    if lasted == 0:
        return None
    gained = float(at @ (values - level)) / float(at @ at) * lasted
    return Trend(level, gained / level if level else 0.0, len(points))
