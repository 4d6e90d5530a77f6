"""A function as the operator has to know it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import cloudpickle

from snapline.errors import InvalidConfiguration, SnaplineError
from snapline.functions.errors import FunctionFailed
from snapline.functions.process import BatchType, KeyedProcessFunction, Mode, batch_type_of, mode_of
from snapline.functions.recording import RecordingContext
from snapline.state.spec import StateSpec


@dataclass(frozen=True)
class FunctionPlan:
    """What one run of ``open`` has shown.

    Attributes:
        pickle: the function before ``open``, as every task gets it.
        name: for people.
        mode: which process method it has.
        batch_type: what ``process_batch`` wants.
        states: in the order in which they were asked for.
        metrics: their names.
    """

    pickle: bytes
    name: str
    mode: Mode
    batch_type: BatchType
    states: tuple[StateSpec, ...]
    metrics: tuple[str, ...]

    @classmethod
    def of(cls, function: KeyedProcessFunction) -> FunctionPlan:
        """Opens a copy of the function, and closes it.

        Raises:
            InvalidConfiguration: the function, or what it asks for, cannot be.
            FunctionFailed: ``open`` or ``close`` raised, or the function cannot be pickled.
        """
        mode = mode_of(function)
        name = type(function).__name__
        try:
            pickle: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
        except Exception as e:
            raise FunctionFailed(
                f"{name} cannot be pickled: {e}", "make in open() what a task has to have for itself."
            ) from e
        copy: KeyedProcessFunction = cloudpickle.loads(pickle)
        context = RecordingContext()
        try:
            copy.open(context)
            copy.close()
        except SnaplineError:
            raise
        except Exception as e:
            raise FunctionFailed(
                f"open() or close() of {name} raised {type(e).__name__}: {e}",
                "see the traceback above; open() runs on the driver too, to see which states there are.",
            ) from e
        states = tuple(StateSpec.of(descriptor) for descriptor in context.descriptors.values())
        _check_for_arrow(mode, name, states)
        return cls(pickle, name, mode, batch_type_of(copy), states, tuple(context.metrics.names))


def _check_for_arrow(mode: Mode, name: str, states: tuple[StateSpec, ...]) -> None:
    """Columns are values per key or entries per row; all else would travel in vain."""
    for spec in states:
        if mode == "arrow" and spec.kind == "map" and spec.entry is None and spec.prefetch:
            raise InvalidConfiguration(
                f"map state {spec.name} of {name} names no entry column, and process_arrow has no use for whole maps.",
                "give entry=, or prefetch=False if only on_timer uses the state.",
            )
        if mode == "arrow" and spec.kind == "list" and spec.prefetch:
            raise InvalidConfiguration(
                f"list state {spec.name} of {name}: process_arrow has no use for lists.",
                "give prefetch=False if only on_timer uses the state, or use a value state with an array type.",
            )
