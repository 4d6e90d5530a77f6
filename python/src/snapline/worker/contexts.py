"""The context that the side with the rows is given, by the kind of the function."""

from __future__ import annotations

from snapline.functions.broadcast import BroadcastStates, ReadOnlyContext
from snapline.functions.context import Context, Keys, SideOutputs, TimerService
from snapline.functions.kind import FunctionKind
from snapline.functions.unkeyed import UnkeyedContext
from snapline.state.cursor import Cursor


class _UnkeyedReadOnlyContext(UnkeyedContext, ReadOnlyContext):
    __slots__ = ()


def make_context(
    kind: FunctionKind,
    cursor: Cursor,
    keys: Keys,
    outputs: SideOutputs,
    timer_service: TimerService,
    states: BroadcastStates,
) -> Context:
    """The context."""
    if kind.has_broadcast:
        made = ReadOnlyContext if kind.is_keyed else _UnkeyedReadOnlyContext
        return made(cursor, keys, outputs, timer_service, states)
    return (Context if kind.is_keyed else UnkeyedContext)(cursor, keys, outputs, timer_service)
