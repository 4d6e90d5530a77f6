"""The windows of a key that merge, and where the contents of each are."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from snapline.functions.context import RuntimeContext
from snapline.state.descriptors import ValueStateDescriptor
from snapline.state.value import ValueState
from snapline.window.assigner import MergeCallback, MergingWindowAssigner
from snapline.window.keys import WindowKeys
from snapline.window.windows import Window

#: Called before windows become one: the result, the windows, the place of its contents, those of the others.
OnMerge: TypeAlias = Callable[[Window, Collection[Window], Window, Collection[Window]], None]


class MergingWindowSet:
    """The windows of the current key, each with the window under which its contents are stored.

    Windows that merge keep the place of one of them, so that most contents stay where they are.
    """

    def __init__(self, assigner: MergingWindowAssigner[Any], keys: WindowKeys) -> None:
        self._assigner = assigner
        self._keys = keys
        self._places: dict[Window, Window] = {}
        self._is_changed = False

    def open(self, ctx: RuntimeContext) -> None:
        kind = self._keys.stored_as
        descriptor = ValueStateDescriptor[Any]("merging-window-set", f"array<struct<window: {kind}, place: {kind}>>")
        self._state: ValueState[Any] = ctx.get_state(descriptor)

    def load(self) -> MergingWindowSet:
        """Reads the windows of the current key."""
        window = self._keys.window
        self._places = {window(each[0]): window(each[1]) for each in self._state.value() or ()}
        self._is_changed = False
        return self

    def save(self) -> None:
        """Writes them, if they have changed."""
        if self._is_changed:
            key = self._keys.key
            self._state.update([(key(window), key(place)) for window, place in self._places.items()] or None)
            self._is_changed = False

    @property
    def windows(self) -> Collection[Window]:
        """The windows that are there."""
        return self._places.keys()

    def place_of(self, window: Window) -> Window | None:
        """The window under which the contents are stored; None: there is no such window."""
        return self._places.get(window)

    def retire(self, window: Window) -> None:
        """Forgets a window."""
        del self._places[window]
        self._is_changed = True

    def add(self, window: Window, on_merge: OnMerge) -> Window:
        """Adds a window, and merges it with those it belongs to: the window that there is instead."""
        places = self._places
        if window in places:
            return window
        merges: list[tuple[Window, list[Window]]] = []
        callback = MergeCallback(lambda windows, result: merges.append((result, list(windows))))
        self._assigner.merge_windows([*places, window], callback)
        found = window
        has_joined = False
        for result, together in merges:
            if window in together:
                together.remove(window)
                found, has_joined = result, True
            if together == [result]:
                continue  # a window that holds the new one already
            place, *others = [places.pop(each) for each in together]
            places[result] = place
            self._is_changed = True
            on_merge(result, together, place, others)
        if not has_joined:
            places[window] = window
            self._is_changed = True
        return found
