"""Values that the store keeps as pickles."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle


def unpickle(array: pa.Array) -> list[Any]:
    """The values of a column of pickles."""
    return [None if each is None else pickle.loads(each) for each in array.to_pylist()]


def pickle_all(values: Sequence[Any]) -> pa.Array:
    """A column of pickles."""
    return pa.array([None if value is None else _pickled(value) for value in values], pa.binary())


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Of a class that came with the function, and is in no module here.
        found: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
        return found
