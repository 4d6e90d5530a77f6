"""The kinds of functions, and which class each is of."""

from __future__ import annotations

from enum import Enum
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.broadcast import KeyedBroadcastProcessFunction
from snapline.functions.process import KeyedProcessFunction
from snapline.functions.unkeyed import BroadcastProcessFunction, ProcessFunction


class FunctionKind(Enum):
    """Whether a function has keys, and a broadcast stream."""

    KEYED = KeyedProcessFunction
    UNKEYED = ProcessFunction
    KEYED_BROADCAST = KeyedBroadcastProcessFunction
    UNKEYED_BROADCAST = BroadcastProcessFunction

    @property
    def base(self) -> type[Any]:
        """The class that users extend."""
        base: type[Any] = self.value
        return base

    @property
    def is_keyed(self) -> bool:
        return self in (FunctionKind.KEYED, FunctionKind.KEYED_BROADCAST)

    @property
    def has_broadcast(self) -> bool:
        return self in (FunctionKind.KEYED_BROADCAST, FunctionKind.UNKEYED_BROADCAST)

    def check(self, function: Any) -> None:
        """
        Raises:
            InvalidConfiguration: the function is for a broadcast stream, and there is none; or it lacks its method.
        """
        wants = isinstance(function, (KeyedBroadcastProcessFunction, BroadcastProcessFunction))
        name = type(function).__name__
        if wants and not self.has_broadcast:
            raise InvalidConfiguration(
                f"{name} is for a broadcast stream, and there is none.",
                "connect one: snapline.key_by(...).connect(snapline.broadcast(...)), or snapline.connect(df, ...).",
            )
        if wants and type(function).process_broadcast_element is self.base.process_broadcast_element:
            raise InvalidConfiguration(
                f"{name} does not override process_broadcast_element.", "override it, or leave out the broadcast."
            )
