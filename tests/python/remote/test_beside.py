"""A call with an object of Spark Connect runs beside the server; here both sides are in one process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import snapline
from snapline.errors import InvalidConfiguration, StateNotFound
from snapline.folder.hadoop_files import HadoopFiles
from snapline.remote.answers import write_answer
from snapline.remote.beside import call_beside, runs_beside
from snapline.remote.pickles import python_version, unpickle_call


def of_connect(name: str, **attributes: Any) -> Any:
    """An object of a class of Spark Connect."""
    return type(name, (), {"__module__": "pyspark.sql.connect.session", **attributes})()


SESSION = of_connect("SparkSession")
FRAME = of_connect("DataFrame", _plan="the plan", _session=SESSION)


class Server:
    """Answers as a companion does, with objects of its own for the client's."""

    def __init__(self) -> None:
        self.plans: list[Sequence[Any]] = []
        self.requests: set[str] = set()
        self.client_python = python_version()

    def ask(self, session: Any, request: str, pickled: bytes, plans: Sequence[Any]) -> str:
        assert session is SESSION
        assert request not in self.requests
        self.requests.add(request)
        self.plans.append(plans)

        def call() -> Any:
            frames = [f"a frame of {each}" for each in plans]
            function, args, kwargs = unpickle_call(pickled, self.client_python, "a session", frames)
            return function(*args, **kwargs)

        return write_answer(call, str)


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    # The true module needs what Spark Connect needs.
    fake = SimpleNamespace(ask=made.ask, frame_of=lambda session, name: name)
    monkeypatch.setitem(sys.modules, "snapline.remote.call", fake)  # type: ignore[arg-type]
    return made


@runs_beside
def described(given: Any, *more: Any, times: int = 1) -> list[str]:
    return [str(given), *map(str, more)] * times


@runs_beside
def fails(given: Any) -> None:
    raise StateNotFound("nothing there.", "look elsewhere.")


def test_a_call_without_spark_connect_runs_here(server: Server) -> None:
    assert described("x", 1, times=2) == ["x", "1", "x", "1"]
    assert not server.requests


def test_objects_of_the_client_become_those_of_the_server(server: Server) -> None:
    found = described(SESSION, FRAME, [FRAME])
    assert found == ["a session", "a frame of the plan", "['a frame of the plan']"]
    # One DataFrame, which is sent once.
    assert server.plans == [["the plan"]]


def test_a_function_may_hold_a_data_frame() -> None:
    held = FRAME
    assert call_beside(SESSION, apply, lambda: f"{held}!") == "a frame of the plan!"


def test_its_error_is_raised_here() -> None:
    with pytest.raises(StateNotFound, match="nothing there"):
        fails(SESSION)


def test_an_argument_that_cannot_be_sent() -> None:
    with pytest.raises(InvalidConfiguration, match="cannot be sent to the server of Spark Connect"):
        described(SESSION, threading.Lock())


def test_a_module_that_the_server_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(__name__="theirs", named=apply)
    kind = type("Theirs", (), {"__module__": "theirs", "__qualname__": "Theirs"})
    module.Theirs = kind
    real = unpickle_call

    def without_it(*args: Any) -> Any:
        monkeypatch.delitem(sys.modules, "theirs")
        return real(*args)

    monkeypatch.setitem(sys.modules, "theirs", module)  # type: ignore[arg-type]
    monkeypatch.setattr(f"{__name__}.unpickle_call", without_it)
    with pytest.raises(InvalidConfiguration, match="No module named 'theirs'"):
        described(SESSION, kind())


def test_a_client_with_another_python(server: Server) -> None:
    server.client_python = "3.9"
    with pytest.raises(InvalidConfiguration, match=r"the client has Python 3\.9, and the server"):
        described(SESSION)


@pytest.mark.parametrize(
    "call",
    [snapline.create_savepoint, snapline.restore_savepoint, snapline.export_savepoint, snapline.rescale_checkpoint],
)
def test_savepoints_are_made_beside_the_server(call: Any, server: Server) -> None:
    # The session of this server is a text, which has no JVM.
    with pytest.raises(AttributeError):
        call(SESSION, "from", "to", **({"parallelism": 2} if call is snapline.rescale_checkpoint else {}))
    assert len(server.requests) == 1


def test_files_are_those_of_a_classic_session(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="of Spark Connect"):
        HadoopFiles(SESSION, str(tmp_path))


def apply(function: Any) -> Any:
    return function()
