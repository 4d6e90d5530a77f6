"""Drives a function without a key: all partitions of it, without Spark and without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql.types import StructType

from snapline.errors import FunctionNotDeterministic, StateNotFound
from snapline.functions.kind import FunctionKind
from snapline.functions.output_tag import OutputTag
from snapline.functions.time import to_millis, zone_of
from snapline.functions.unkeyed import ProcessFunction
from snapline.state.cursor import BatchTime
from snapline.state.ddl import parse_schema
from snapline.state.operator_spec import Distribution, OperatorStateSpec
from snapline.state.row import Row
from snapline.stream.broadcasting import BroadcastInput
from snapline.stream.planning import plan_process
from snapline.testing.bounds import Bounds
from snapline.testing.broadcasting import in_order
from snapline.testing.collected import Collected, as_tuples
from snapline.testing.dealing import redistribute
from snapline.testing.links import InProcessLink, Link
from snapline.testing.operator import Operator
from snapline.testing.operator_states import family_of
from snapline.testing.store import DictStore
from snapline.worker.frames import Frame
from snapline.worker.job import Job


class ProcessTestHarness:
    """The partitions of a function of ``snapline.process`` or ``snapline.connect``.

    Every micro-batch opens a fresh copy of the function in each partition, as Spark's tasks do: attributes of the
    function are gone with the micro-batch here too.

    Args:
        function: the function to test.
        schema: the schema of the rows.
        output: the schema of what the function yields.
        parallelism: number of partitions.
        broadcast: the broadcast stream: ``BroadcastInput.of(schema, descriptors...)``.
        event_time: the column that is the time of a row.
        side_outputs: the tags that the function emits to.
        time_zone: the session's time zone.
        bounds: the bounds of chunks.
        link: the way to the worker; by default it runs in this process and thread.

    Raises:
        InvalidConfiguration: the function, its states or an argument cannot be.
    """

    def __init__(
        self,
        function: ProcessFunction,
        *,
        schema: str | StructType,
        output: str | StructType,
        parallelism: int = 1,
        broadcast: BroadcastInput | None = None,
        event_time: str | None = None,
        side_outputs: Sequence[OutputTag] = (),
        time_zone: str = "UTC",
        bounds: Bounds | None = None,
        link: Callable[[Job, Callable[[Frame], Frame | None]], Link] = InProcessLink,
    ) -> None:
        self._rows = parse_schema(schema, "the schema of the rows")
        kind = FunctionKind.UNKEYED if broadcast is None else FunctionKind.UNKEYED_BROADCAST
        self._plan = plan_process(
            self._rows,
            (),
            function,
            output,
            side_outputs=side_outputs,
            event_time=event_time,
            kind=kind,
            parallelism=parallelism,
            broadcast=broadcast,
        )
        self._broadcast = broadcast
        self._zone = time_zone
        self._bounds = bounds or Bounds()
        self._link = link
        self._time = BatchTime(0, None if self._plan.job.event_time is None else 0)
        self._collected = Collected(self._plan)
        self._partitions = self._make_partitions(parallelism)

    def _make_partitions(self, count: int) -> list[Operator]:
        job, result = self._plan.job, self._plan.result
        schema = None if self._broadcast is None else self._broadcast.schema
        return [
            Operator(
                job,
                self._rows,
                result,
                DictStore(),
                self._zone,
                self._bounds,
                broadcast=schema,
                partition=partition,
                partitions=count,
            )
            for partition in range(count)
        ]

    @property
    def parallelism(self) -> int:
        """The number of partitions."""
        return len(self._partitions)

    @property
    def metrics(self) -> dict[str, float]:
        """The values of counters and gauges, added up over partitions and micro-batches."""
        return self._collected.metrics

    def process_batch(
        self, rows: Sequence[Any], *, partition: int | None = None, broadcast: Sequence[Any] = ()
    ) -> list[Row]:
        """One micro-batch; gives what it added to the output, partition by partition.

        Args:
            rows: tuples, dicts or Rows; row i goes to partition i mod ``parallelism``.
            partition: where all of them go instead.
            broadcast: rows of the broadcast stream.

        Raises:
            FunctionNotDeterministic: a broadcast state is not the same in all partitions.
        """
        tuples = as_tuples(rows, self._rows.names)
        rules: list[Any] = []
        if self._broadcast is not None:
            rules = in_order(as_tuples(broadcast, self._broadcast.schema.names), self._broadcast)
        found: list[Row] = []
        for i, operator in enumerate(self._partitions):
            mine = (tuples if i == partition else []) if partition is not None else tuples[i :: self.parallelism]
            result = operator.run_batch(mine, self._time, lambda answer: self._link(self._plan.job, answer), rules)
            found += self._collected.add(result)
        self._check_equal()
        return found

    def _check_equal(self) -> None:
        for spec in self._plan.job.plan.operator_states:
            if spec.distribution is Distribution.BROADCAST:
                first, *others = (operator.operator_states.entries(spec) for operator in self._partitions)
                differing = [
                    i for i, other in enumerate(others, 1) if other != first and repr(other) != repr(first)
                ]  # NaN is unequal to itself
                if differing:
                    raise FunctionNotDeterministic(
                        f"broadcast state {spec.name!r} of partition 0 is not that of {differing}.",
                        "let process_broadcast_element depend on its rows and the broadcast state alone.",
                    )

    def set_times(self, *, watermark: int | datetime | None = None, processing: int | datetime | None = None) -> None:
        """Sets the times of the next micro-batch."""
        now, seen = self._time.processing, self._time.watermark
        zone = zone_of(self._zone)
        self._time = BatchTime(
            now if processing is None else to_millis(processing, zone),
            seen if watermark is None else to_millis(watermark, zone),
        )

    def rescale(self, parallelism: int) -> None:
        """Changes the state as a savepoint and its restore at another parallelism (or the same) do."""
        specs = self._plan.job.plan.operator_states
        before = [{spec.name: op.operator_states.entries(spec) for spec in specs} for op in self._partitions]
        self._partitions = self._make_partitions(parallelism)
        for operator, states in zip(self._partitions, redistribute(specs, before, parallelism), strict=True):
            for spec in specs:
                for key, value in states[spec.name]:
                    operator.store.put(family_of(spec), key, value)
            operator.operator_states.mark()

    def state(self, name: str, partition: int = 0) -> Any:
        """An operator state of a partition as it is stored: a list, or a dict.

        Raises:
            StateNotFound: the function has no such state.
        """
        spec = self._spec(name)
        entries = self._partitions[partition].operator_states.entries(spec)
        return dict(entries) if spec.distribution is Distribution.BROADCAST else [value for _, value in entries]

    def _spec(self, name: str) -> OperatorStateSpec:
        for spec in self._plan.job.plan.operator_states:
            if spec.name == name:
                return spec
        raise StateNotFound(f"there is no operator state {name!r}.", "give the name of one the function asks for.")

    def output(self) -> list[Row]:
        """All rows of the result so far."""
        return list(self._collected.rows)

    def side_output(self, tag: OutputTag | str) -> list[Row]:
        """All rows of a side output so far."""
        return self._collected.side(tag)
