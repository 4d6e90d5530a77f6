"""The form in which a window is the namespace of a state."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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
    """

    stored_as: str
    key: Callable[[Any], Any]
    window: Callable[[Any], Any]

    @classmethod
    def of(cls, window_type: type[Window]) -> WindowKeys:
        """Windows of a type that is not Snapline's are stored as pickles: equal ones need equal pickles."""
        return _KEYS.get(window_type, _PICKLES)


def _itself(window: Any) -> Any:
    return window


_KEYS: dict[type[Window], WindowKeys] = {
    TimeWindow: WindowKeys("struct<start: long, end: long>", _itself, lambda key: TimeWindow(key[0], key[1])),
    CountWindow: WindowKeys("long", lambda window: window.id, CountWindow),
    GlobalWindow: WindowKeys("long", lambda _: 0, lambda _: GlobalWindow.get()),
}
_PICKLES = WindowKeys("binary", lambda window: pickle.dumps(window, 4), pickle.loads)
