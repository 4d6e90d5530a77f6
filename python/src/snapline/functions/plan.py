"""A function as the operator has to know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle

from snapline.errors import InvalidConfiguration, SnaplineError
from snapline.functions.checkpointed import CheckpointedFunction, recorded_states
from snapline.functions.errors import FunctionFailed
from snapline.functions.kind import FunctionKind
from snapline.functions.process import (
    BatchType,
    Mode,
    batch_type_of,
    check_library,
    check_synchronous,
    close,
    has_async_rows,
    mode_of,
)
from snapline.functions.recording import RecordingContext
from snapline.functions.timer_list import TIMER_LIST
from snapline.state.operator_spec import OperatorStateSpec
from snapline.state.spec import StateSpec


@dataclass(frozen=True)
class FunctionPlan:
    """The declarations of a function, found by one run of its ``open``.

    Attributes:
        pickle: the function before ``open``, as every task gets it.
        name: the function's name, for messages.
        mode: the process method that it has.
        batch_type: the type of batch that ``process_batch`` wants.
        states: the states, in the order in which they were asked for.
        metrics: the names of the metrics.
        kind: whether the function has keys, and a broadcast stream.
        operator_states: the broadcast states of the broadcast stream first; empty where there are neither.
        takes_late_rows: whether rows older than the watermark reach the function.
        lists_timers: whether the last of the states is the list of a key's timers.
        deleted: the names of states that are removed if an earlier version of the function had them.
        is_async: whether ``process_element`` is a coroutine or an asynchronous generator.
    """

    pickle: bytes
    name: str
    mode: Mode
    batch_type: BatchType
    states: tuple[StateSpec, ...]
    metrics: tuple[str, ...]
    kind: FunctionKind = FunctionKind.KEYED
    operator_states: tuple[OperatorStateSpec, ...] = ()
    takes_late_rows: bool = False
    lists_timers: bool = False
    deleted: tuple[str, ...] = ()
    is_async: bool = False

    @classmethod
    def of(
        cls,
        function: Any,
        kind: FunctionKind = FunctionKind.KEYED,
        broadcast: Sequence[OperatorStateSpec] = (),
    ) -> FunctionPlan:
        """Opens a copy of the function, and closes it.

        Args:
            broadcast: the states of its broadcast stream.

        Raises:
            InvalidConfiguration: the function, or what it asks for, cannot be.
            FunctionFailed: a method raised, or the function cannot be pickled.
        """
        kind.check(function)
        mode = mode_of(function, kind.base)
        name = getattr(function, "_shown_as", None) or type(function).__name__
        is_async = kind is FunctionKind.KEYED and has_async_rows(function)
        check_synchronous(function, but=("process_element", "close") if is_async else ())
        if mode == "arrow" and kind.has_broadcast:
            raise InvalidConfiguration(
                f"{name} overrides process_arrow, which has no context to get broadcast state from.",
                "override process_element or process_batch.",
            )
        try:
            pickle: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
        except Exception as e:
            raise FunctionFailed(
                f"{name} cannot be pickled: {e}", "make in open() what a task has to have for itself."
            ) from e
        lists_timers = bool(kind.is_keyed and getattr(function, "lists_timers", False))
        if lists_timers and mode == "arrow":
            raise InvalidConfiguration(
                f"{name} overrides process_arrow, and lists timers.", "override process_element or process_batch."
            )
        copy: Any = cloudpickle.loads(pickle)
        context = RecordingContext(kind.is_keyed)
        own: tuple[OperatorStateSpec, ...] = ()
        try:
            if isinstance(copy, CheckpointedFunction):
                own = recorded_states(copy)
            copy.open(context)
            close(copy)
            if lists_timers:
                context.get_map_state(TIMER_LIST)
        except SnaplineError:
            raise
        except Exception as e:
            raise FunctionFailed(
                f"initialize_state(), open() or close() of {name} raised {type(e).__name__}: {e}",
                "see the traceback above; they run on the driver too, to see which states there are.",
            ) from e
        states = tuple(StateSpec.of(descriptor) for descriptor in context.descriptors.values())
        kept = sorted(set(context.deleted) & context.descriptors.keys())
        if kept:
            raise InvalidConfiguration(
                f"{name} deletes state {', '.join(kept)}, and asks for it too.", "leave out one of the two."
            )
        _check_for_arrow(mode, name, states)
        batch_type = batch_type_of(copy)
        if batch_type == "rows" and not kind.is_keyed:
            raise InvalidConfiguration(
                f"{name} has no key, and wants lists of rows.", "take Arrow batches, or override process_element."
            )
        if mode == "batch":
            check_library(batch_type, name)
        operator_states = (*broadcast, *(spec for spec in own if spec not in broadcast))
        _check_names(name, [*(spec.name for spec in operator_states)])
        takes_late_rows = bool(kind.is_keyed and function.takes_late_rows)
        return cls(
            pickle,
            name,
            mode,
            batch_type,
            states,
            tuple(context.metrics.names),
            kind,
            operator_states,
            takes_late_rows,
            lists_timers,
            tuple(context.deleted),
            is_async,
        )


def _check_names(function: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidConfiguration(
            f"{function} has more than one operator state named {', '.join(twice)}.", "give each a name of its own."
        )


def _check_for_arrow(mode: Mode, name: str, states: tuple[StateSpec, ...]) -> None:
    """Columns are values per key or entries per row; all else would travel in vain."""
    for spec in states:
        if mode == "arrow" and spec.kind == "map" and spec.entry is None and spec.prefetch is True:
            raise InvalidConfiguration(
                f"map state {spec.name} of {name} names no entry column, and process_arrow has no use for whole maps.",
                'give entry=, or prefetch="timers" if only on_timer uses the state.',
            )
        if mode == "arrow" and spec.kind == "list" and spec.prefetch is True:
            raise InvalidConfiguration(
                f"list state {spec.name} of {name}: process_arrow has no use for lists.",
                'give prefetch="timers" if only on_timer uses the state, or use a value state with an array type.',
            )
