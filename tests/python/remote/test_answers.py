"""A client has the values and errors that the call gave beside the server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, StreamingQueryException

from snapline.errors import InternalError, SnaplineError, StateNotFound
from snapline.functions import FunctionFailed
from snapline.recovery.report import RecoveryReport
from snapline.remote.answers import read_answer, write_answer
from snapline.savepoint import SavepointFile

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), inner)
    ),
)


def answered(call: Any) -> Any:
    def no_frame(_: Any) -> Any:
        raise AssertionError("there is no DataFrame")

    return read_answer(write_answer(call, no_frame), no_frame)


@given(VALUES)
def test_a_value_comes_as_it_was(value: Any) -> None:
    found = answered(lambda: value)
    assert found == value
    assert repr(found) == repr(value)


def test_objects_of_the_package_come_as_they_were() -> None:
    report = RecoveryReport(3, 7, range(8, 12), stores=4)
    nested = {"report": report, "files": (SavepointFile("a/b", 1, 2),)}
    assert answered(lambda: nested) == nested


def test_a_data_frame_has_a_name() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    kept: list[Any] = []

    def keep(each: Any) -> str:
        kept.append(each)
        return "first"

    assert read_answer(write_answer(lambda: [frame], keep), lambda name: f"frame {name}") == ["frame first"]
    assert kept == [frame]


@pytest.mark.parametrize(
    "error",
    [
        StateNotFound("there is no checkpoint 9.", "ask for another."),
        FunctionFailed("key 3.", "mend it."),
        TypeError("start() got an unexpected keyword argument"),
    ],
)
def test_an_error_is_raised_as_it_was(error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        answered(lambda: throw(error))
    assert str(raised.value) == str(error)
    if isinstance(error, SnaplineError):
        assert vars(raised.value) == vars(error)


def test_an_error_may_be_a_value() -> None:
    found = answered(lambda: StreamingQueryException("the query failed"))
    assert isinstance(found, StreamingQueryException)
    assert "the query failed" in str(found)


def test_errors_of_spark_keep_their_class() -> None:
    with pytest.raises(AnalysisException, match="no such column"):
        answered(lambda: throw(AnalysisException("no such column")))


def test_other_errors_keep_their_name() -> None:
    class Theirs(Exception):
        pass

    with pytest.raises(RuntimeError, match="Theirs: it broke"):
        answered(lambda: throw(Theirs("it broke")))


def test_a_result_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(TypeError, match="a object cannot be sent"):
        answered(object)


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "data", "class": "subprocess:Popen", "of": {"args": "true"}},
        {"kind": "data", "class": "snapline.errors:StateNotFound", "of": {}},
        {"kind": "data", "class": "snapline.session:os.system", "of": {}},
        {"kind": "snapline", "class": "snapline.recovery.report:RecoveryReport", "of": [1, 2]},
        {"kind": "python", "class": "exec", "of": "1"},
        {"kind": "nothing", "class": "exec", "of": "1"},
        {"kind": "list"},
    ],
)
def test_a_server_can_make_a_client_call_nothing_else(value: Any) -> None:
    with pytest.raises(InternalError, match="the server's answer cannot be read"):
        read_answer(json.dumps({"value": value}), str)


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense"])
def test_nonsense_is_no_answer(text: str) -> None:
    with pytest.raises(InternalError, match="the server's answer cannot be read"):
        read_answer(text, str)


def throw(error: Exception) -> None:
    raise error
