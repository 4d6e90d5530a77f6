"""The contents of windows: an accumulator, or the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.types import StructType

from snapline.functions.context import RuntimeContext
from snapline.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.namespaced import NamespacedMapState, NamespacedValueState

CONTENTS, COUNT = "window-contents", "window-count"


class Contents(ABC):
    """The contents of the windows of a key, each by the window's key."""

    @abstractmethod
    def open(self, ctx: RuntimeContext, namespace: str) -> None:
        """Asks for the state; ``namespace`` is the type of a window's key."""

    @abstractmethod
    def add(self, window: Any, row: Any) -> None:
        """Adds a row."""

    @abstractmethod
    def elements(self, window: Any) -> Sequence[Any] | None:
        """What a window function is given; None: there is nothing in the window."""

    @abstractmethod
    def clear(self, window: Any) -> None:
        """Deletes all."""

    @abstractmethod
    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Moves what the windows ``sources`` have to ``target``."""


class FoldedContents(Contents):
    """An accumulator for each window; a window function is given its result alone."""

    def __init__(self, descriptor: ReducingStateDescriptor[Any] | AggregatingStateDescriptor[Any, Any, Any]) -> None:
        self._descriptor = descriptor

    def open(self, ctx: RuntimeContext, namespace: str) -> None:
        descriptor = replace(self._descriptor, namespace=namespace)
        if isinstance(descriptor, ReducingStateDescriptor):
            self._state: Any = ctx.get_reducing_state(descriptor)
        else:
            self._state = ctx.get_aggregating_state(descriptor)

    def add(self, window: Any, row: Any) -> None:
        self._state.set_current_namespace(window)
        self._state.add(row)

    def elements(self, window: Any) -> Sequence[Any] | None:
        self._state.set_current_namespace(window)
        result = self._state.get()
        return None if result is None else (result,)

    def clear(self, window: Any) -> None:
        self._state.set_current_namespace(window)
        self._state.clear()

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        self._state.merge_namespaces(target, sources)


class RowContents(Contents):
    """All rows of each window, numbered: one is added without the others being read or written."""

    def __init__(self, row_type: StructType) -> None:
        self._row_type = row_type

    def open(self, ctx: RuntimeContext, namespace: str) -> None:
        rows = MapStateDescriptor[Any, Any](CONTENTS, "long", self._row_type, namespace=namespace)
        count = ValueStateDescriptor[Any](COUNT, "long", namespace=namespace)
        self._rows: NamespacedMapState[int, Any] = ctx.get_map_state(rows)  # type: ignore[assignment]
        self._count: NamespacedValueState[int] = ctx.get_state(count)  # type: ignore[assignment]

    def _go_to(self, window: Any) -> int:
        self._rows.set_current_namespace(window)
        self._count.set_current_namespace(window)
        return self._count.value() or 0

    def add(self, window: Any, row: Any) -> None:
        count = self._go_to(window)
        self._rows.put(count, row)
        self._count.update(count + 1)

    def elements(self, window: Any) -> Sequence[Any] | None:
        count = self._go_to(window)
        return list(self._rows.get_all(range(count)).values()) if count else None

    def clear(self, window: Any) -> None:
        for number in range(self._go_to(window)):
            self._rows.remove(number)
        self._count.clear()

    def replace(self, window: Any, rows: Sequence[Any]) -> None:
        """These rows instead of those there were."""
        before = self._go_to(window)
        for number, row in enumerate(rows):
            self._rows.put(number, row)
        for number in range(len(rows), before):
            self._rows.remove(number)
        self._count.update(len(rows) or None)

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        for source in sources:
            rows = self.elements(source)
            if rows:
                self.clear(source)
                for row in rows:
                    self.add(target, row)
