"""Functions of a DataFrame of Spark Connect: a relation that the server's plug-in makes a plan of
(docs/notes/023-connect.md). Imported only where such a DataFrame is given: it needs what Spark Connect needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.plan import LogicalPlan

from snapline.remote.message import FUNCTION, pack
from snapline.remote.pickles import python_version
from snapline.remote.server import known_by_server
from snapline.stream.planning import ProcessPlan
from snapline.worker.entry import Entry, RawInput, RawOutput


@dataclass(frozen=True)
class SecondInput:
    """A broadcast stream (``call`` is ``connect``) or an initial state (``begin``).

    Attributes:
        columns: the order of the former's rows, or the keys of the latter.
        plan: the function that makes the initial state.
    """

    call: str
    frame: Any
    columns: Sequence[str]
    plan: ProcessPlan | None = None


class FunctionRelation(LogicalPlan):
    """The call of a function, as a client sends it."""

    def __init__(
        self,
        rows: LogicalPlan,
        keys: Sequence[str],
        order: Sequence[str],
        plan: ProcessPlan,
        second: SecondInput | None,
    ) -> None:
        super().__init__(rows)
        self._rows = rows
        self._second = second
        initial = None if second is None else second.plan
        self._functions = [_pickled(each) for each in (plan, initial) if each is not None]
        self._header = {
            "call": "plan" if second is None else second.call,
            "keys": list(keys),
            "order": list(order),
            "columns": [] if second is None else list(second.columns),
            "output": plan.result.json(),
            "spec": json.dumps(plan.spec_json()),
            "python": python_version(),
        }
        if initial is not None:
            self._header["initial_spec"] = json.dumps(initial.spec_json())

    def plan(self, session: Any) -> Any:
        relation = self._create_proto_relation()
        relation.extension.type_url = FUNCTION
        relation.extension.value = self._value(session)
        return relation

    def _value(self, session: Any) -> bytes:
        frames = [self._rows] if self._second is None else [self._rows, self._second.frame._plan]
        inputs = [frame.plan(session).SerializeToString() for frame in frames]
        return pack(self._header, inputs=inputs, functions=self._functions)


def connect_frame(
    rows: Any, keys: Sequence[str], order: Sequence[str], plan: ProcessPlan, second: SecondInput | None
) -> DataFrame:
    """The result, as far as the server agrees.

    Raises:
        InvalidConfiguration: the server has no Snapline, or function and stream do not fit.
        WrongSparkVersion: the server has another version of it.
    """
    result = DataFrame(FunctionRelation(rows._plan, keys, order, plan, second), rows.sparkSession)
    # A plan is made when it is needed; what is wrong with this one is to be said here.
    with known_by_server():
        result.schema  # noqa: B018
    return result


def _pickled(plan: ProcessPlan) -> bytes:
    """As Spark's workers take a function: with a profiler, which there is none of, and what reads and writes."""
    pickler: Any = CloudPickleSerializer()
    return bytes(pickler.dumps((Entry(plan.job), None, RawInput(), RawOutput())))
