from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import AsyncRetryStrategy
from snapline.errors import InvalidConfiguration
from snapline.functions.idempotency import RowKeys
from snapline.testing import KeyedTestHarness, ProcessTestHarness
from snapline.testing.links import InProcessLink
from snapline.worker.frames import Frame, ToWorker

from ..query.real_query import make_session
from ..sink.queries import forget_commit, give, run, stream
from ..spark_jar import need_jar


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    need_jar()
    session = make_session()
    yield session
    session.stop()


class Sends(snapline.AsyncFunction):
    """Two calls for each row: the first fails."""

    def __init__(self, log: str) -> None:
        self._log = log

    def open(self, ctx: Any) -> None:
        self._tried: set[str] = set()

    async def async_invoke(self, value: Any) -> Any:
        key = snapline.idempotency_key()
        with Path(self._log).open("a") as log:
            log.write(f"{value.k} {key}\n")
        if key not in self._tried:
            self._tried.add(key)
            raise ConnectionError("on purpose")
        return [(value.k, key)]


AGAIN = AsyncRetryStrategy.fixed_delay(3, 0, exception_predicate=lambda e: isinstance(e, ConnectionError))


def test_a_call_that_is_made_again_has_the_same_key_and_an_equal_row_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    log, checkpoint = tmp_path / "log", tmp_path / "checkpoint"

    def start() -> None:
        rows = stream(spark, tmp_path / "input").coalesce(1)
        sent = snapline.async_process(rows, Sends(str(log)), "k int, key string", timeout=10_000, retry=AGAIN)
        run(sent.writeStream.format("noop").option("checkpointLocation", str(checkpoint)))

    give(tmp_path / "input", "0", [(1, 0), (1, 0), (2, 0)])
    start()
    lines = log.read_text().splitlines()
    assert len(lines) == 6
    first = sorted(set(lines))
    assert len(first) == 3, "a retry has another key, or an equal row the same"
    forget_commit(checkpoint, 0)
    start()
    assert sorted(set(log.read_text().splitlines())) == first
    give(tmp_path / "input", "1", [(1, 0)])
    start()
    assert len(set(log.read_text().splitlines())) == 4


class Keyed(snapline.KeyedProcessFunction):
    async def process_element(self, row: Any, ctx: Any) -> Any:
        yield (snapline.idempotency_key(),)


def test_a_keyed_function_that_waits_has_keys_too() -> None:
    def keys() -> list[str]:
        with KeyedTestHarness(Keyed(), key="k", schema="k int, v int", output="key string") as harness:
            return sorted(row[0] for row in harness.process([(1, 1), (1, 1), (2, 1)]))

    assert keys() == keys()
    assert len(set(keys())) == 3


class Waited(InProcessLink):
    """All rows are of the first micro-batch: those of the others waited for the one that runs."""

    def send(self, frame: Frame) -> None:
        if frame.kind == ToWorker.SETUP:
            frame.meta["batch_id"] = 0
        super().send(frame)


def test_equal_rows_on_both_sides_of_a_cut_have_keys_of_their_own() -> None:
    """Unaligned checkpoints: a batch is begun in its own time, and is worked off in two that follow."""

    def keys() -> list[str]:
        with KeyedTestHarness(Keyed(), key="k", schema="k int, v int", output="key string", link=Waited) as harness:
            return [row[0] for row in harness.process([(1, 1)] * 6, batch_size=2)]

    first = keys()
    assert len(set(first)) == 6
    assert keys() == first, "a replay, which cuts where it was cut, has the same keys"


def test_elsewhere_there_is_none() -> None:
    with pytest.raises(InvalidConfiguration, match="outside of a row's"):
        snapline.idempotency_key()

    class Plain(snapline.ProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Any:
            yield (snapline.idempotency_key(),)

    harness = ProcessTestHarness(Plain(), schema="k int", output="key string")
    with pytest.raises(InvalidConfiguration, match="outside of a row's"):
        harness.process_batch([(1,)])


def test_without_a_query_there_are_no_keys() -> None:
    keys = RowKeys("", "f")
    keys.enter((1,))
    with pytest.raises(InvalidConfiguration, match="bounded DataFrame"):
        snapline.idempotency_key()
