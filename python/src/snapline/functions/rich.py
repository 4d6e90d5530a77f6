"""Functions of one row, which may keep state of its key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from snapline.functions.opened import Opened


class MapFunction(Opened, ABC):
    """One row of the output for each row. A plain function of a row does as well."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The row of the output, as a tuple, dict or row; None: none."""


class FlatMapFunction(Opened, ABC):
    """Any number of rows of the output for each row. A plain function of a row does as well."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """The rows of the output."""


class FilterFunction(Opened, ABC):
    """Keeps some rows. A plain function of a row does as well."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Whether the row is kept."""
