"""Function and arguments of a call. DataFrames, writers and the session are named in it, and not pickled."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Sequence
from typing import Any

from pyspark.cloudpickle import CloudPickler

from snapline.errors import InvalidConfiguration
from snapline.java_api import is_connect
from snapline.remote.writer import WriterDescription

_SESSION = "session"
_FRAME = "frame"
_WRITER = "writer"


class CallPickler(CloudPickler):
    """Pickles a call on the client.

    Attributes:
        plans: those of the DataFrames, in the order of their numbers.
    """

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)  # type: ignore[no-untyped-call]
        self.plans: list[Any] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        if not is_connect(obj) or isinstance(obj, type):
            return None
        kind = type(obj).__name__
        if kind == "SparkSession":
            return (_SESSION,)
        if kind == "DataFrame":
            return (_FRAME, self._number(obj._plan))
        if kind == "DataStreamWriter":
            return (_WRITER, self._number(obj._write_stream._child), WriterDescription.of(obj))
        return None

    def _number(self, plan: Any) -> int:
        if id(plan) not in self._numbers:
            self._numbers[id(plan)] = len(self.plans)
            self.plans.append(plan)
        return self._numbers[id(plan)]


def pickle_call(*call: Any) -> tuple[bytes, Sequence[Any]]:
    """A call, and the plans of the DataFrames in it.

    Raises:
        InvalidConfiguration: something in it cannot be sent.
    """
    file = io.BytesIO()
    pickler = CallPickler(file)
    try:
        pickler.dump(call)  # type: ignore[no-untyped-call]
    except (pickle.PicklingError, TypeError, AttributeError) as e:
        raise InvalidConfiguration(
            f"an argument of the call cannot be sent to the server of Spark Connect: {e}.",
            "make what it holds (connections, locks, open files) on the server, when the function runs there.",
        ) from e
    return file.getvalue(), pickler.plans


class CallUnpickler(pickle.Unpickler):
    """Reads a call beside the server."""

    def __init__(self, pickled: bytes, session: Any, frames: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(pickled))
        self._session = session
        self._frames = frames

    def persistent_load(self, pid: tuple[Any, ...]) -> Any:
        kind, *rest = pid
        if kind == _SESSION:
            return self._session
        if kind == _FRAME:
            return self._frames[rest[0]]
        number, description = rest
        return description.on(self._frames[number])


def python_version() -> str:
    """As ``3.11``: functions that are pickled by value hold byte code, which another one does not read."""
    return "{}.{}".format(*sys.version_info)


def unpickle_call(pickled: bytes, python: str, session: Any, frames: Sequence[Any]) -> tuple[Any, ...]:
    """The call, with the classic DataFrames, writers and session in place of the client's.

    Args:
        python: the client's version.

    Raises:
        InvalidConfiguration: the server's Python cannot read it.
    """
    if python != python_version():
        raise InvalidConfiguration(
            f"the client has Python {python}, and the server {python_version()}.",
            "let both have the same minor version: PYSPARK_PYTHON of the server names its Python.",
        )
    try:
        call: tuple[Any, ...] = CallUnpickler(pickled, session, frames).load()
    except (ImportError, AttributeError) as e:
        raise InvalidConfiguration(
            f"the Python beside the server of Spark Connect cannot read the call: {e}.",
            "install there the modules that the client's functions import, of the same versions.",
        ) from e
    return call
