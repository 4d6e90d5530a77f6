"""``apply_to_keyed_state``: the state of all keys of a partition, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from snapline.errors import InvalidConfiguration
from snapline.state.cursor import BatchTime, Cursor
from snapline.state.descriptors import StateDescriptor
from snapline.state.handles import make_handle
from snapline.state.spec import StateSpec
from snapline.worker.frames import KEYS_PART, ToOperator, Transport
from snapline.worker.keys import SlotKeys
from snapline.worker.remote_state import RemoteState


class AllKeyedStates:
    """Works within a frame of broadcast rows, when no slot is in use."""

    def __init__(
        self,
        states: Sequence[RemoteState],
        keys: SlotKeys,
        cursor: Cursor,
        time: BatchTime,
        zone: tzinfo | None,
        *,
        schemas: dict[int, pa.Schema],
        transport: Transport,
        requests: Iterator[int],
    ) -> None:
        self._states = {state.spec.name: state for state in states}
        self._keys = keys
        self._cursor = cursor
        self._time = time
        self._zone = zone
        self._schemas = schemas
        self._transport = transport
        self._requests = requests

    def apply(self, descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls the function for each key that has the state; what it changes is in the store before the next page."""
        state = self._states.get(getattr(descriptor, "name", ""))
        if state is None or state.spec != StateSpec.of(descriptor):
            raise InvalidConfiguration(
                f"apply_to_keyed_state of {descriptor!r}, which open() does not ask for.",
                "ask for the state in open(), with the same descriptor.",
            )
        handle = make_handle(descriptor, state.spec, state.cache, self._cursor, self._time, self._zone)
        meta: dict[str, Any] = {"request": next(self._requests), "state": state.index, "what": "keys"}
        page = meta
        more = True
        while more:
            frame = self._transport.fetch(page, [])
            keys = frame.batch(KEYS_PART, self._schemas)
            count = 0 if keys is None else keys.num_rows
            if keys is not None:
                self._keys.load(keys)
            state.load(frame, count)
            for slot in range(count):
                self._cursor.slot = slot
                function(self._keys.get(slot), handle)
            for part in state.flush():
                self._transport.send(ToOperator.CHANGES, {}, [part])
            self._keys.reset()
            more = frame.meta["more"]
            page = {**meta, "next": True}
        self._transport.send(ToOperator.FETCH, {**meta, "close": True}, [])
        self._cursor.slot = -1
