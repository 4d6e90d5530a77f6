"""What Snapline promises of a figure, measured against another provider or against a number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from snapline_bench.provider import OURS

# figures[provider][name] = median over the runs
Medians = dict[str, dict[str, float]]


class Part(Enum):
    WHOLE = "whole"
    STATE = "state part"
    ABSOLUTE = "absolute"
    ADDED = "added to"


@dataclass(frozen=True)
class Goal:
    """`limit`: the most that the ratio (or the figure itself) may be; None: the ratio is only shown."""

    figure: str
    part: Part
    against: str
    limit: float | None
    ours: str = OURS

    def value(self, medians: Medians) -> float | None:
        """The ratio ours / theirs, or our figure; None if one of them was not run, or not for this figure."""
        ours = self._of(self.ours, medians)
        if self.part is Part.ABSOLUTE or ours is None:
            return ours
        theirs = self._of(self.against, medians)
        if self.part is Part.ADDED:
            return None if theirs is None else ours - theirs
        return ours / theirs if theirs else None

    def _of(self, provider: str, medians: Medians) -> float | None:
        value = medians.get(provider, {}).get(self.figure)
        if value is None or self.part is not Part.STATE:
            return value
        return value - medians["null"][self.figure] if "null" in medians else None

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        if self.limit is None:
            return "-"
        return "met" if value <= self.limit else "MISSED"
