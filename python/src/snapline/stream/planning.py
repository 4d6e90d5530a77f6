"""From the arguments of ``process`` to what the operator and its workers are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.kind import FunctionKind
from snapline.functions.output_tag import OutputTag
from snapline.functions.plan import FunctionPlan
from snapline.state.ddl import parse_schema
from snapline.state.spec import StateSpec
from snapline.state.ttl import TtlTime
from snapline.state.types import check_key
from snapline.stream.broadcasting import BroadcastInput
from snapline.stream.columns import check_columns, event_time_of
from snapline.stream.schema import result_schema
from snapline.worker.job import Job

#: As many key groups as there can be.
_MAX_PARALLELISM = 32_768


@dataclass(frozen=True)
class ProcessPlan:
    """A keyed process, checked.

    Attributes:
        job: the workers' part.
        result: the columns of the result, then one struct per side output.
        sides: the names of the side outputs, that of late rows last.
        late_output: the side output of late rows, if they have one.
        output_event_time: the column of the result that carries the watermark on.
        parallelism: the number of partitions of a function without a key.
        uid: the name by which a restore finds the operator.
    """

    job: Job
    result: StructType
    sides: tuple[str, ...]
    late_output: str | None
    output_event_time: str | None
    parallelism: int | None = None
    uid: str | None = None

    def spec_json(self) -> dict[str, Any]:
        """For the operator."""
        plan = self.job.plan
        return {
            "states": [state.to_json() for state in plan.states],
            # Without a key all rows are sent as they come; which method gets them is the worker's matter.
            "mode": plan.mode if plan.kind.is_keyed else "element",
            "keyed": plan.kind.is_keyed,
            "broadcast": plan.kind.has_broadcast,
            "operator_states": [state.to_json() for state in plan.operator_states],
            "parallelism": self.parallelism,
            "metrics": list(plan.metrics),
            "late_output": self.late_output,
            "takes_late_rows": plan.takes_late_rows,
            "deleted_states": list(plan.deleted),
            "side_outputs": list(self.sides),
            "event_time": self.job.event_time,
            "output_event_time": self.output_event_time,
            "function": plan.name,
            "uid": self.uid,
        }


def plan_process(
    rows: StructType,
    keys: Sequence[str],
    function: Any,
    output: str | StructType,
    *,
    side_outputs: Sequence[OutputTag] = (),
    late_output: OutputTag | str | None = None,
    event_time: str | None = None,
    output_event_time: str | None = None,
    kind: FunctionKind = FunctionKind.KEYED,
    parallelism: int | None = None,
    broadcast: BroadcastInput | None = None,
    uid: str | None = None,
) -> ProcessPlan:
    """Checks the arguments and opens a copy of the function.

    Raises:
        InvalidConfiguration: the function, its states or an argument cannot be.
        FunctionFailed: ``open`` raised.
    """
    key_names = check_columns(rows, keys, "key_by")
    for name in key_names:
        check_key(rows[name].dataType, f"key_by by {name}, which is of type {rows[name].dataType.simpleString()}")
    _check_unkeyed(kind, parallelism, late_output)
    # Operators are told by their number, too.
    if uid is not None and not (isinstance(uid, str) and uid.strip() and not uid.isdigit()):
        raise InvalidConfiguration(f"the uid is {uid!r}.", "give a name, which no other operator of the query has.")
    columns = parse_schema(output, "the schema of the output")
    for tag in side_outputs:
        if not isinstance(tag, OutputTag):
            raise InvalidConfiguration(f"the side output {tag!r}.", "give OutputTag(name, schema).")
    late = late_output.name if isinstance(late_output, OutputTag) else late_output
    sides = [(tag.name, tag.struct) for tag in side_outputs]
    time = event_time_of(rows, event_time)
    if late is not None:
        if time is None:
            raise InvalidConfiguration(
                f"the output {late} for late rows, and no column is the time of a row.",
                "give the DataFrame a watermark (withWatermark), or leave out late_output.",
            )
        sides.append((late, rows))
    if output_event_time is not None:
        if time is None:
            raise InvalidConfiguration(
                f"the output column {output_event_time} is to carry a watermark on, and there is none.",
                "give the DataFrame a watermark (withWatermark), or leave out output_event_time.",
            )
        (output_event_time,) = check_columns(columns, [output_event_time], "output_event_time")
    result = result_schema(columns, sides)
    plan = FunctionPlan.of(function, kind, () if broadcast is None else broadcast.states)
    if late is not None and plan.takes_late_rows:
        raise InvalidConfiguration(
            f"the output {late} for late rows, and {plan.name} takes late rows itself.",
            "leave out late_output, or takes_late_rows of the function.",
        )
    _check_states(plan.states, rows, time)
    tags = tuple(tag.name for tag in side_outputs)
    broadcast_columns = () if broadcast is None else tuple(broadcast.schema.names)
    job = Job(plan, tuple(key_names), tuple(rows.names), tuple(columns.names), tags, time, broadcast_columns)
    return ProcessPlan(job, result, tuple(name for name, _ in sides), late, output_event_time, parallelism, uid)


def _check_unkeyed(kind: FunctionKind, parallelism: int | None, late_output: OutputTag | str | None) -> None:
    if parallelism is not None and kind.is_keyed:
        raise InvalidConfiguration(
            f"parallelism={parallelism} of a keyed function.",
            "leave it out: keyed state is spread over spark.sql.shuffle.partitions partitions.",
        )
    if parallelism is not None and (type(parallelism) is not int or not 1 <= parallelism <= _MAX_PARALLELISM):
        raise InvalidConfiguration(
            f"parallelism is {parallelism!r}.", f"give a whole number between 1 and {_MAX_PARALLELISM}."
        )
    if late_output is not None and not kind.is_keyed:
        raise InvalidConfiguration(
            "a late_output without a key.", "leave it out: such a function is given late rows like all others."
        )


def _check_states(states: Sequence[StateSpec], rows: StructType, event_time: str | None) -> None:
    for state in states:
        if state.entry is not None:
            (name,) = check_columns(rows, [state.entry], f"the entry of map state {state.name}")
            if name != state.entry or rows[name].dataType != state.key:
                raise InvalidConfiguration(
                    f"map state {state.name} has keys of type {state.key and state.key.simpleString()}, and its entry "
                    f"column {name} is of type {rows[name].dataType.simpleString()}.",
                    "name a column of the very type of the keys, and write it as the schema does.",
                )
        if state.ttl is not None and state.ttl.time is TtlTime.EVENT_TIME and event_time is None:
            raise InvalidConfiguration(
                f"state {state.name} lives in event time, and no column is the time of a row.",
                "give the DataFrame a watermark (withWatermark), or process() the argument event_time.",
            )
