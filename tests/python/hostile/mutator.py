"""Hostile JSON: one that a reader knows, with something in it that was not meant."""

from __future__ import annotations

import copy
import random
from typing import Any

# Of each kind those that a reader may trip over: numbers that are lengths, texts that become names of files.
EXTREMES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    10**12,
    10**40,
    1.5,
    1e308,
    "",
    ".",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../../b",
    "a\0b",
    "9" * 5000,
    "x" * 70_000,
    "v1\n" + "[" * 3000,
    [],
    {},
    [[]],
    [None],
    {"": None},
)


def mutated(value: Any, chance: random.Random) -> Any:
    """A copy with one to three changes."""
    changed = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        holder, place = chance.choice(list(_places(changed)) or [(None, None)])
        if holder is not None:
            _change(holder, place, chance)
    return changed


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All members and items, however deep: what holds them, and where."""
    places: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        for place in list(value) if isinstance(value, dict) else range(len(value)):
            places += [(value, place), *_places(value[place])]
    return places


def _change(holder: Any, place: Any, chance: random.Random) -> None:
    what = chance.randrange(6)
    if what == 0:
        del holder[place]
    elif what == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[place]))
    elif what == 2 and isinstance(holder[place], int | float):
        holder[place] = holder[place] + chance.choice((-1, 1, 2**20))
    else:
        holder[place] = copy.deepcopy(chance.choice(EXTREMES))
