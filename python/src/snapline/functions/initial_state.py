"""The function for the rows of an initial state."""

from __future__ import annotations

from inspect import isgeneratorfunction
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from snapline.functions.process import KeyedProcessFunction, check_synchronous_methods, close


class InitialStateFunction(KeyedProcessFunction):
    """Hands each row to ``process_initial_state`` of the function whose states it fills.

    Raises:
        InvalidConfiguration: the function does not override that method, or the method is a generator.
    """

    @staticmethod
    def of(function: KeyedProcessFunction) -> InitialStateFunction:
        """The function for the rows, with operator state if the other one has it."""
        if isinstance(function, CheckpointedFunction):
            return _CheckpointedInitialStateFunction(function)
        return InitialStateFunction(function)

    def __init__(self, function: KeyedProcessFunction) -> None:
        name = function._shown_as or type(function).__name__
        method = type(function).process_initial_state
        if method is KeyedProcessFunction.process_initial_state:
            raise InvalidConfiguration(
                f"an initial state for {name}, which does not override process_initial_state.",
                "override it: it makes state of one row of the initial state.",
            )
        if isgeneratorfunction(method):
            raise InvalidConfiguration(
                f"{name}.process_initial_state yields rows.", "let it fill states alone: there is no output yet."
            )
        check_synchronous_methods(function, ["process_initial_state"])
        self._function = function
        self._shown_as = name
        # Timers that it sets are on the list of the function's.
        self.lists_timers = function.lists_timers  # type: ignore[misc]

    def open(self, ctx: Any) -> None:
        self._function.open(ctx)

    def close(self) -> None:
        close(self._function)

    def process_element(self, row: Any, ctx: Any) -> None:
        self._function.process_initial_state(row, ctx)


class _CheckpointedInitialStateFunction(InitialStateFunction, CheckpointedFunction):
    """The same for a function with operator state, which goes on with it at the rows of the first micro-batch."""

    def initialize_state(self, ctx: FunctionInitializationContext) -> None:
        self._checkpointed.initialize_state(ctx)

    def snapshot_state(self, ctx: FunctionSnapshotContext) -> None:
        self._checkpointed.snapshot_state(ctx)

    @property
    def _checkpointed(self) -> CheckpointedFunction:
        assert isinstance(self._function, CheckpointedFunction)
        return self._function
