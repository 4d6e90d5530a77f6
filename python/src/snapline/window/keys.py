"""The form in which a window is the key of a state."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from snapline.window.windows import CountWindow, GlobalWindow, TimeWindow, Window


@dataclass(frozen=True)
class WindowKeys:
    """How the windows of one type are stored.

    Attributes:
        stored_as: Spark's type.
        key: from a window to a value of the type.
        window: from a value of the type to the window.
        part: the type of the elements of a list of windows.
        unpack: from such a list, in which each window is followed by its place, to places by window.
        pack: the other way.
    """

    stored_as: str
    key: Callable[[Any], Any]
    window: Callable[[Any], Any]
    part: str
    unpack: Callable[[Sequence[Any]], dict[Any, Any]]
    pack: Callable[[dict[Any, Any]], list[Any]]

    @classmethod
    def of(cls, window_type: type[Window]) -> WindowKeys:
        """Windows of a type that is not Snapline's are stored as pickles: equal ones need equal pickles."""
        return _KEYS.get(window_type, _PICKLES)

    @classmethod
    def of_one(cls, kind: str, key: Callable[[Any], Any], window: Callable[[Any], Any]) -> WindowKeys:
        """Windows whose keys are of a plain type."""

        def unpack(flat: Sequence[Any]) -> dict[Any, Any]:
            windows = list(map(window, flat))
            return dict(zip(windows[::2], windows[1::2], strict=True))

        def pack(places: dict[Any, Any]) -> list[Any]:
            return [key(each) for pair in places.items() for each in pair]

        return cls(kind, key, window, kind, unpack, pack)


def _itself(window: Any) -> Any:
    return window


def _unpack_spans(flat: Sequence[Any]) -> dict[Any, Any]:
    if len(flat) == 4:
        start, end, place_start, place_end = flat
        return {TimeWindow(start, end): TimeWindow(place_start, place_end)}
    spans = list(map(TimeWindow, flat[::2], flat[1::2]))
    return dict(zip(spans[::2], spans[1::2], strict=True))


def _pack_spans(places: dict[Any, Any]) -> list[Any]:
    return [number for window, place in places.items() for number in (*window, *place)]


_KEYS: dict[type[Window], WindowKeys] = {
    TimeWindow: WindowKeys(
        "struct<start: long, end: long>",
        _itself,
        lambda key: TimeWindow(key[0], key[1]),
        "long",
        _unpack_spans,
        _pack_spans,
    ),
    CountWindow: WindowKeys.of_one("long", lambda window: window.id, CountWindow),
    GlobalWindow: WindowKeys.of_one("long", lambda _: 0, lambda _: GlobalWindow.get()),
}
_PICKLES = WindowKeys.of_one("binary", lambda window: pickle.dumps(window, 4), pickle.loads)
