"""The windows of a key that merge, and where the contents of each are."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from typing import Any, TypeAlias

from snapline.functions.context import RuntimeContext
from snapline.state.descriptors import ValueStateDescriptor
from snapline.state.value import ValueState
from snapline.window.assigner import MergeCallback, MergingWindowAssigner
from snapline.window.keys import WindowKeys
from snapline.window.shortcuts import merges_spans
from snapline.window.windows import TimeWindow, Window

#: Called before windows become one: the result, the windows, the place of its contents, those of the others.
OnMerge: TypeAlias = Callable[[Window, Collection[Window], Window, Collection[Window]], None]


class MergingWindowSet:
    """The windows of the current key, each with the window under which its contents are stored.

    Windows that merge keep the place of one of them, so that most contents stay where they are.

    Attributes:
        merges_spans: whether time windows that overlap or touch become one, and no others do.
        has_grown: whether the last window that was added is new, or has made another longer.
    """

    def __init__(self, assigner: MergingWindowAssigner[Any], keys: WindowKeys) -> None:
        self._assigner = assigner
        self._keys = keys
        self.merges_spans = merges_spans(assigner)
        self._places: dict[Any, Any] = {}
        self._is_changed = False
        self.has_grown = False

    def open(self, ctx: RuntimeContext) -> None:
        # A list of plain values, in which the key of each window stands before that of its place, is taken at once.
        part = self._keys.part
        self._state: ValueState[Any] = ctx.get_state(ValueStateDescriptor[Any]("merging-window-set", f"array<{part}>"))

    def load(self) -> MergingWindowSet:
        """Reads the windows of the current key."""
        stored = self._state.value()
        self._places = {} if stored is None else self._keys.unpack(stored)
        self._is_changed = False
        return self

    def save(self) -> None:
        """Writes them, if they have changed."""
        if self._is_changed:
            self._state.update(self._keys.pack(self._places) if self._places else None)
            self._is_changed = False

    @property
    def windows(self) -> Collection[Any]:
        """The windows that are there."""
        return self._places.keys()

    def place_of(self, window: Window) -> Any:
        """The window under which the contents are stored; None: there is no such window."""
        return self._places.get(window)

    def retire(self, window: Window) -> None:
        """Forgets a window."""
        del self._places[window]
        self._is_changed = True

    def add(self, window: Any, on_merge: OnMerge) -> Any:
        """Adds a window, and merges it with those it belongs to: the window that there is instead."""
        places = self._places
        self.has_grown = False
        if self.merges_spans:
            touched = [each for each in places if each[0] <= window[1] and each[1] >= window[0]]
            if not touched:
                self._put(window, window)
                return window
            found = reduce(TimeWindow.cover, touched, window)
            if touched != [found]:
                self._merge(found, sorted(touched), on_merge)
            return found
        return self._add(window, on_merge)

    def _add(self, window: Any, on_merge: OnMerge) -> Any:
        """As the assigner says."""
        places = self._places
        if window in places:
            return window
        merges: list[tuple[Any, list[Any]]] = []
        callback = MergeCallback(lambda windows, result: merges.append((result, list(windows))))
        self._assigner.merge_windows([*places, window], callback)
        found = window
        has_joined = False
        for result, together in merges:
            if window in together:
                together.remove(window)
                found, has_joined = result, True
            if together != [result]:  # else a window holds the new one already
                self._merge(result, together, on_merge)
        if not has_joined:
            self._put(window, window)
        return found

    def _merge(self, result: Any, together: list[Any], on_merge: OnMerge) -> None:
        place, *others = [self._places.pop(each) for each in together]
        self._put(result, place)
        on_merge(result, together, place, others)

    def _put(self, window: Any, place: Any) -> None:
        self._places[window] = place
        self._is_changed = self.has_grown = True
