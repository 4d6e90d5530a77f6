"""How an operator state hands over what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

PUT, REMOVE, CLEAR = 0, 1, 2


class OperatorChanges(NamedTuple):
    """Column by column: what to do, with which position of a list or key of a map, and the value to put."""

    ops: Sequence[int]
    keys: Sequence[Any]
    values: Sequence[Any]
