"""Which classes have more and more live objects, batch by batch: a leak that is small beside the heap of an hour, and
not beside that of a month."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from snapline_bench.flat import Point, trend

SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class Held:
    """`count` live objects of a class, and the bytes of them alone."""

    count: int
    bytes: int


@dataclass(frozen=True)
class Census:
    """What a JVM held, by class, when it had finished a batch."""

    batch: int
    classes: Mapping[str, Held]


@dataclass(frozen=True)
class Growth:
    """Of one class, for each batch."""

    name: str
    objects: float
    bytes: float

    @property
    def mb_a_day(self) -> float:
        """At a batch a second."""
        return self.bytes * SECONDS_A_DAY / 1e6


# A class that gains less is none that gains something in each batch: caches that fill, and code that is compiled.
LEAST = 0.5


def growing(censuses: Sequence[Census]) -> list[Growth]:
    """
    The classes with more objects in each third of the censuses than in any of the third before, and more of them by a
    line through all; those that gain most bytes first. Fewer than six censuses say nothing.
    """
    if len(censuses) < 6:
        return []
    third = len(censuses) // 3
    parts = [censuses[:third], censuses[third:-third], censuses[-third:]]
    found = []
    for name in set().union(*(each.classes for each in censuses[-third:])):
        counts = [[_of(each, name).count for each in part] for part in parts]
        if max(counts[0]) < min(counts[1]) and max(counts[1]) < min(counts[2]):
            objects = _slope((each.batch, _of(each, name).count) for each in censuses)
            if objects >= LEAST:
                size = _slope((each.batch, _of(each, name).bytes) for each in censuses)
                found.append(Growth(name, objects, size))
    return sorted(found, key=lambda each: -each.bytes)


def parse_histogram(text: str) -> dict[str, Held]:
    """What the JVM's command `GC.class_histogram` says. Its lines: `  12:  345  6789  a.b.C (module)`."""
    found = {}
    for line in text.splitlines():
        rank, *rest = line.split()[:4] or [""]
        if rank.endswith(":") and rank[:-1].isdigit() and len(rest) == 3:
            found[rest[2]] = Held(int(rest[0]), int(rest[1]))
    return found


def _of(census: Census, name: str) -> Held:
    return census.classes.get(name, Held(0, 0))


def _slope(values: Iterable[tuple[int, int]]) -> float:
    points = [Point(batch, value) for batch, value in values]
    found = trend(points)
    span = max(point.at for point in points) - min(point.at for point in points)
    return found.growth * found.level / span if found and span else 0.0
