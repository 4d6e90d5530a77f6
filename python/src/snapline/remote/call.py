"""Relations by which a client calls for the Python beside the server. Imported only where Spark Connect is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.connect.dataframe import DataFrame
from pyspark.sql.connect.plan import LogicalPlan

from snapline.remote.message import CALL, FRAME, pack
from snapline.remote.pickles import python_version
from snapline.remote.server import known_by_server


class _Message(LogicalPlan):
    """A relation that the server's plug-in knows."""

    def __init__(self, url: str, header: dict[str, Any], plans: Sequence[Any] = (), **parts: Sequence[bytes]) -> None:
        super().__init__(None)
        self._url = url
        self._header = header
        self._plans = plans
        self._parts = parts

    def plan(self, session: Any) -> Any:
        relation = self._create_proto_relation()
        relation.extension.type_url = self._url
        inputs = [each.plan(session).SerializeToString() for each in self._plans]
        relation.extension.value = pack(self._header, inputs=inputs, **self._parts)
        return relation


def ask(session: Any, request: str, pickled: bytes, plans: Sequence[Any]) -> str:
    """The answer to a call.

    Args:
        session: the client's.
        request: the id of the request; the server gives the same answer to one that is sent again.
        pickled: function and arguments.
        plans: those of the DataFrames in it.

    Raises:
        SnaplineError: the server has no Snapline, or no Python that has it.
    """
    call = _Message(CALL, {"id": request, "python": python_version()}, plans, call=[pickled])
    with known_by_server():
        return str(DataFrame(call, session).collect()[0][0])


def frame_of(session: Any, name: str) -> DataFrame:
    """A DataFrame that a call has made."""
    return DataFrame(_Message(FRAME, {"frame": name}), session)
