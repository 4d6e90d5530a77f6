from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from snapline.state.cursor import Cursor
from snapline.state.form import ANY
from snapline.state.map import MapState
from snapline.state.map_cache import MapCache
from snapline.state.source import Entry


class Source:
    """A stored map, and what was asked of it."""

    def __init__(self, stored: dict[Any, Any], page: int = 10) -> None:
        self.stored, self.page = stored, page
        self.asked: list[Any] = []
        self.epoch = 0

    def entries(self, slot: int, keys: Sequence[Any]) -> list[Entry]:
        self.asked.append(list(keys))
        return [Entry(key, self.stored[key], None) for key in keys if key in self.stored]

    def scan(self, slot: int) -> Iterator[tuple[list[Entry], bool]]:
        self.asked.append("scan")
        entries = [Entry(key, value, None) for key, value in self.stored.items()]
        for start in range(0, len(entries), self.page):
            yield entries[start : start + self.page], start + self.page < len(entries)

    def too_late(self) -> Exception:
        return RuntimeError("too late")


def state(source: Source) -> tuple[MapCache, MapState[Any, Any]]:
    cache, cursor = MapCache(source), Cursor()
    cache.begin(1, False)
    cursor.slot = 0
    return cache, MapState(cache, cursor, ANY, ANY)


def test_an_entry_is_asked_for_once() -> None:
    source = Source({1: "a", 2: None})
    _, entries = state(source)
    for _ in range(2):
        assert (entries.get(1), entries.get(2, "x"), entries.get(3, "x"), 3 in entries) == ("a", None, "x", False)
        assert entries.get_all([1, 2, 3, 4]) == {1: "a", 2: None}
    assert source.asked == [[1], [2], [3], [4]]


def test_what_was_changed_wins_over_what_comes_later() -> None:
    cache, entries = state(Source({}))
    entries.put(1, "new")
    entries.remove(2)
    cache.load_named([0, 0, 0, 0], [1, 2, 3, 4], [True, True, True, False], ["old", "old", "old", None], None)
    assert [entries.get(key, "none") for key in (1, 2, 3, 4)] == ["new", "none", "old", "none"]
    entries.clear()
    cache.load_named([0], [5], [True], ["old"], None)
    assert list(entries.items()) == []
    changes = cache.changes()
    assert changes is not None
    assert (changes.ops, changes.keys) == ([2], [None])


@pytest.mark.parametrize("page", [1, 2, 10])
def test_going_through_a_map_sees_its_own_changes(page: int) -> None:
    source = Source({key: key for key in range(5)}, page)
    _, entries = state(source)
    entries.put(1, "new")
    entries.put(7, "more")
    entries.remove(2)
    assert dict(entries.items()) == {0: 0, 1: "new", 3: 3, 4: 4, 7: "more"}
    assert (len(entries), sorted(entries), entries.is_empty(), bool(entries)) == (5, [0, 1, 3, 4, 7], False, True)
    assert (source.asked.count("scan") == 1) == (page == 10)


@pytest.mark.parametrize("page", [1, 10])
def test_a_map_may_be_changed_while_one_goes_through_it(page: int) -> None:
    _, entries = state(Source({key: key for key in range(4)}, page))
    seen = []
    for key, value in entries.items():
        seen.append((key, value))
        entries.put(key, value)
        entries.remove(3)
    assert seen == [(0, 0), (1, 1), (2, 2)]
    assert dict(entries.items()) == {0: 0, 1: 1, 2: 2}


@pytest.mark.parametrize("page", [1, 2, 10])
def test_a_reader_brings_nothing_back_that_was_cleared(page: int) -> None:
    cache, entries = state(Source({key: key for key in range(4)}, page))
    reader = entries.items()
    begun = entries.keys()
    next(begun)
    entries.clear()
    entries.put(7, "new")
    assert list(reader) == list(begun) == []
    assert (entries.get(1, "none"), dict(entries.items())) == ("none", {7: "new"})
    changes = cache.changes()
    assert changes is not None
    assert (changes.ops, changes.keys) == ([2, 0], [None, 7])


@pytest.mark.parametrize("page", [1, 2, 10])
def test_readers_do_not_disturb_each_other(page: int) -> None:
    _, entries = state(Source({key: key for key in range(4)}, page))
    entries.put(2, "new")
    entries.remove(3)
    readers = [entries.items() for _ in range(3)]
    next(readers[2])
    entries.put(3, "again")
    entries.put(9, "more")
    assert dict(readers[1]) == dict(readers[0]) == {0: 0, 1: 1, 2: "new"}
    assert len(dict(readers[2])) == 2


@pytest.mark.parametrize("page", [1, 2, 10])
@pytest.mark.parametrize("taken", [0, 1])
def test_a_reader_ends_with_its_epoch(page: int, taken: int) -> None:
    source = Source({key: key for key in range(4)}, page)
    cache, entries = state(source)
    entries.put(5, 5)
    reader = entries.items()
    for _ in range(taken):
        next(reader)
    source.epoch += 1
    cache.reset()
    cache.begin(1, False)
    with pytest.raises(RuntimeError, match="too late"):
        list(reader)


def test_missing_keys_raise_as_those_of_a_dict() -> None:
    _, entries = state(Source({}))
    with pytest.raises(KeyError):
        entries["x"]
    with pytest.raises(KeyError):
        del entries["x"]
    entries.put_all({"x": 1, "y": None})
    del entries["x"]
    assert (dict(entries.items()), entries["y"]) == ({"y": None}, None)
