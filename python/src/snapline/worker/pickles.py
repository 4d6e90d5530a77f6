"""Columns of pickles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from snapline.state.pickles import dumps, kept_form


def kept_pickles(array: pa.Array) -> list[Any]:
    """The values of a column, as they are kept."""
    return [None if each is None else kept_form(each) for each in array.to_pylist()]


def pickle_all(kept: Sequence[Any]) -> pa.Array:
    """A column of what is kept."""
    return pa.array([None if each is None else dumps(each) for each in kept], pa.binary())
