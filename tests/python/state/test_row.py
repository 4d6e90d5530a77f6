from __future__ import annotations

import gc
import pickle
from typing import Any

import pytest

from snapline.state import Row
from snapline.state.row import row_maker


def test_fields_by_name_position_and_unpacking() -> None:
    row: Any = row_maker(["tail", "count", "_x", "class", "as_dict", "a b"])((1, 2, 3, 4, 5, 6))
    assert (row.tail, row.count, row._x, row["class"], row["as_dict"], row["a b"]) == (1, 2, 3, 4, 5, 6)
    assert row[0] == 1
    assert row[1:3] == (2, 3)
    assert row == (1, 2, 3, 4, 5, 6)
    assert hash(row) == hash((1, 2, 3, 4, 5, 6))
    assert row.as_dict()["a b"] == 6
    tail, *_ = row
    assert tail == 1


def test_unknown_fields_are_told() -> None:
    row = row_maker(["a", "b"])((1, 2))
    with pytest.raises(AttributeError, match="no field c; its fields are a, b"):
        row.c  # noqa: B018
    with pytest.raises(KeyError, match="c; the fields are a, b"):
        row["c"]
    assert repr(row) == "Row(a=1, b=2)"


def test_rows_can_be_pickled() -> None:
    row = row_maker(["a", "b"])((1, [2]))
    copy = pickle.loads(pickle.dumps(row))
    assert isinstance(copy, Row)
    assert (copy, copy.b) == (row, [2])


def test_fields_survive_the_garbage_collector() -> None:
    for i in range(50):
        make = row_maker([f"field{i}", "other"])
        gc.collect()
        assert make((i, 0))[f"field{i}"] == getattr(make((i, 0)), f"field{i}") == i
