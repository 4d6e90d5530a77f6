"""A map of one of Snapline's own functions, which gives keys as the store has them."""

from __future__ import annotations

from typing import Any

from snapline.state.cursor import Cursor
from snapline.state.form import ANY, Form
from snapline.state.map import MapState
from snapline.state.map_cache import MapCache


class StoredMap(MapState[Any, Any]):
    """The same map with less to do for each call: no key has to be brought into another form."""

    __slots__ = ()

    def __init__(self, cache: MapCache, cursor: Cursor, value: Form) -> None:
        super().__init__(cache, cursor, ANY, value)

    def get(self, key: Any, default: Any = None) -> Any:
        slot = self._cursor.slot
        kept = self._entries[slot].get(key)
        if kept is None:
            if self._cache.is_whole[slot] or not self._has(slot, key):
                return default
            kept = self._entries[slot][key]
        give = self._give
        return kept if give is None else give(kept)

    def put(self, key: Any, value: Any) -> None:
        slot = self._cursor.slot
        self._entries[slot][key] = value if type(value) is self._exact else self._take(value)
        changed = self._changed[slot]
        if changed is None:
            self._changed[slot] = {key}
            self._cache.grown += 1
        elif key not in changed:
            changed.add(key)
            self._cache.grown += 1

    def put_before(self, key: Any) -> Any:
        """The value that was put in this epoch, as it is kept: it may be changed in place. None: none was."""
        slot = self._cursor.slot
        changed = self._changed[slot]
        return self._entries[slot].get(key) if changed is not None and key in changed else None
