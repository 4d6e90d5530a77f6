"""The thread that starts a query again, without Spark: however it ends, the owner hears of it."""

from __future__ import annotations

from typing import Any

import pytest

from snapline.errors import StorageFailure
from snapline.query import FixedDelayRestart, SupervisedQuery


class Failing:
    """Spark's query, which has failed."""

    id = "query"

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def awaitTermination(self) -> None:  # Spark's name
        raise self.failure


class Ending:
    """Spark's query, which ends by itself."""

    id = "query"

    def awaitTermination(self) -> None:  # Spark's name
        pass


class Runs:
    """Also the driver in the JVM."""

    def __init__(
        self, *, has_context: bool = True, taken_over: Exception | None = None, refusal: Exception | None = None
    ) -> None:
        self.has_context = has_context
        self._taken_over = taken_over
        self._refusal = refusal
        self.begun = 0
        self.endings: list[str] = []

    @property
    def driver(self) -> Runs:
        return self

    def end(self, how: str) -> None:
        self.endings.append(how)

    def checkpointLast(self) -> None:  # the driver's name
        if self._refusal is not None:
            raise self._refusal

    def taken_over(self) -> None:
        if self._taken_over is not None:
            raise self._taken_over

    def set_aside(self, failure: Exception) -> bool:
        if self._refusal is not None:
            raise self._refusal
        return False

    def begin(self) -> Failing:
        self.begun += 1
        return Failing(RuntimeError(f"failure {self.begun}"))


def supervised(runs: Any, failure: Exception | None, attempts: int = 2) -> SupervisedQuery:
    query: Any = Ending() if failure is None else Failing(failure)
    return SupervisedQuery(runs, FixedDelayRestart(attempts=attempts, delay=0), query)


def test_the_last_failure_is_raised() -> None:
    runs = Runs()
    query = supervised(runs, RuntimeError("first"))
    with pytest.raises(RuntimeError, match="failure 2"):
        query.awaitTermination(10)
    assert (runs.begun, runs.endings, query.restarts) == (2, ["FAILED"], 2)


def test_a_jvm_that_is_gone_is_a_failure() -> None:
    runs = Runs(taken_over=ConnectionRefusedError("no answer"))
    query = supervised(runs, RuntimeError("first"))
    with pytest.raises(ConnectionRefusedError, match="no answer"):
        query.awaitTermination(10)
    assert (runs.begun, query.isActive) == (0, False)


def test_nothing_begins_in_a_context_that_has_stopped() -> None:
    runs = Runs(has_context=False)
    failure = RuntimeError("cannot call methods on a stopped context")
    query = supervised(runs, failure)
    with pytest.raises(RuntimeError, match="stopped context"):
        query.awaitTermination(10)
    # Its checkpoints stay, whatever the retention is.
    assert (runs.begun, runs.endings, query.exception()) == (0, ["SUSPENDED"], failure)


def test_a_failure_without_a_text_is_one_like_others() -> None:
    runs = Runs()
    with pytest.raises(RuntimeError, match="failure 1"):
        supervised(runs, AssertionError(), attempts=1).awaitTermination(10)
    assert runs.begun == 1


def test_storage_that_refuses_to_set_a_checkpoint_aside_is_left_to_the_strategy() -> None:
    runs = Runs(refusal=StorageFailure("the disk is full.", "make room."))
    with pytest.raises(RuntimeError, match="failure 2"):
        supervised(runs, RuntimeError("a damaged checkpoint")).awaitTermination(10)
    assert (runs.begun, runs.endings) == (2, ["FAILED"])


def test_storage_that_refuses_the_last_checkpoint_makes_no_failure_of_a_good_end() -> None:
    runs = Runs(refusal=StorageFailure("the disk is full.", "make room."))
    query = supervised(runs, None)
    query.awaitTermination(10)
    assert (runs.begun, runs.endings, query.exception(), query.isActive) == (0, ["SUSPENDED"], None, False)
