"""Queries under a coordinator, on Spark itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import snapline
from snapline import CheckpointConfig, FixedDelayRestart, NoRestart, SupervisedQuery
from snapline.errors import CheckpointDamaged, InvalidConfiguration, StateNotFound, StorageFailure
from snapline.inspect import CheckpointFolder, Restart, verify

from .conftest import Ticking
from .real_query import RealQuery, take_all_and_stop, wait_for

SPELLS = FIRST, SECOND, ALL, MORE = 3, 5, 6, 7
# Longer than any test: a checkpoint is taken at the first barrier of each run, and when somebody asks.
RARELY = timedelta(hours=1)
INTERVAL = CheckpointConfig(interval=RARELY)
KEPT = CheckpointConfig(interval=RARELY, num_retained=5)
TABLES_APART = CheckpointConfig(interval=RARELY, num_retained=5, data_inline_threshold=0)
INTERVAL_SETTING = "spark.snapline.execution.checkpointing.interval"


def to_files(query: RealQuery) -> DataStreamWriter:
    writer = query.result().writeStream.format("parquet").option("path", str(query.work / "output"))
    return writer.option("checkpointLocation", str(query.checkpoint))


def run(query: RealQuery, config: CheckpointConfig, sink: FailsOnce | None = None, **more: Any) -> SupervisedQuery:
    """Takes in all that is there."""
    if sink is None:
        running = snapline.start(to_files(query), config, **more)
        take_all_and_stop(running)
    else:
        running = snapline.start(sink.writer(query), config, **more)
        running.awaitTermination()
    return running


def numbers(query: RealQuery) -> list[int]:
    return sorted(int(path.parent.name[4:]) for path in (query.checkpoint / "snapline").glob("chk-*/_metadata"))


def state_files(query: RealQuery, ending: str) -> list[str]:
    return sorted(path.name for path in (query.checkpoint / "state").rglob(f"*.{ending}"))


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Lived:
    """The same input in the same spells, without a coordinator: output after each, and the state after the newest."""

    def __init__(self, query: RealQuery) -> None:
        self.outputs = []
        for first, last in pairwise([0, *SPELLS]):
            query.add_input(first, last)
            query.go_on()
            self.outputs.append(query.output())
            if last == ALL:
                self.newest = max(query.batches("commits"))
                self.state = query.state(self.newest)


@pytest.fixture(scope="module")
def lived(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    return Lived(RealQuery(spark, tmp_path_factory.mktemp("lived")))


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> RealQuery:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, FIRST)
    return query


def test_state_is_stored_at_checkpoints_only_and_rebuilt_by_replay(query: RealQuery, lived: Lived) -> None:
    run(query, INTERVAL)
    # Batches 0 to 3; the last has no data. One handle for each of two partitions, of the version after batch 0.
    assert query.batches("commits") == [0, 1, 2, 3]
    assert numbers(query) == [1]
    assert state_files(query, "changelog") == []
    assert [name.partition("_")[0] for name in state_files(query, "handle")] == ["1", "1"]
    found = verify(CheckpointFolder(query.checkpoint))
    assert found.findings == ()
    assert found.restart == Restart(checkpoint=1, batch=0, lag=3)

    query.add_input(FIRST, SECOND)
    history = run(query, INTERVAL).checkpoints()
    assert history["latest"]["restored"]["id"] == 1
    assert numbers(query) == [2]
    assert verify(CheckpointFolder(query.checkpoint)).findings == ()

    # From an interval to none: recovers, and from then on every batch is durable.
    query.add_input(SECOND, ALL)
    run(query, CheckpointConfig())
    assert not (query.checkpoint / "snapline" / "interval").exists()
    assert query.output() == lived.outputs[2]
    assert max(query.batches("commits")) == lived.newest
    assert query.state(lived.newest) == lived.state
    assert verify(CheckpointFolder(query.checkpoint)).findings == ()
    query.add_input(ALL, MORE)
    query.go_on()
    assert query.output() == lived.outputs[3]


def test_goes_back_by_hand(query: RealQuery, lived: Lived) -> None:
    run(query, KEPT)
    query.add_input(FIRST, SECOND)
    run(query, KEPT)
    assert numbers(query) == [1, 2]
    before = all_files(query.checkpoint)
    with pytest.raises(StateNotFound, match=r"no checkpoint 7 .* there is 1, 2"):
        run(query, KEPT, restore=7)
    assert all_files(query.checkpoint) == before

    query.add_input(SECOND, ALL)
    history = run(query, KEPT, restore=1).checkpoints()
    assert history["latest"]["restored"]["id"] == 1
    # Checkpoint 2 was of a line that this run has left.
    assert numbers(query) == [1, 3]
    assert query.output() == lived.outputs[2]
    run(query, CheckpointConfig())
    assert query.state(lived.newest) == lived.state


def test_goes_back_by_hand_where_no_batch_follows(query: RealQuery) -> None:
    run(query, KEPT)
    query.add_input(FIRST, SECOND)
    run(query, KEPT)
    assert numbers(query) == [1, 2]
    run(query, KEPT, restore=1)
    assert numbers(query) == [1]
    query.add_input(SECOND, ALL)
    assert run(query, KEPT).checkpoints()["latest"]["restored"]["id"] == 1
    assert numbers(query) == [1, 2]
    assert verify(CheckpointFolder(query.checkpoint)).findings == ()


def test_a_restore_by_hand_that_fails_leaves_the_newer_checkpoints(query: RealQuery, lived: Lived) -> None:
    run(query, KEPT)
    query.add_input(FIRST, SECOND)
    run(query, KEPT)
    query.add_input(SECOND, ALL)
    # Batch 1 read it, which lies between the two checkpoints.
    (query.work / "input" / "001.json").unlink()
    with pytest.raises(StateNotFound, match=r"001\.json"):
        run(query, KEPT, restore=1)
    assert numbers(query) == [1, 2]
    assert run(query, KEPT, restore=2).checkpoints()["latest"]["restored"]["id"] == 2
    assert query.output() == lived.outputs[2]


def test_a_restart_keeps_the_checkpoints_since_the_one_it_was_restored_from(query: RealQuery) -> None:
    run(query, KEPT)
    query.add_input(FIRST, SECOND)

    class FailsLate(FailsOnce):
        def __call__(self, rows: DataFrame, batch: int) -> None:
            if batch == self.batch:
                wait_for(lambda: 2 in numbers(query))
            super().__call__(rows, batch)

    # Batches 4 and 5 are new, and checkpoint 2 is of the first of them.
    sink = FailsLate(5)
    restart = FixedDelayRestart(attempts=1, delay=0)
    running = snapline.start(sink.writer(query), CheckpointConfig(num_retained=5), restore=1, restart=restart)
    running.awaitTermination()
    assert (running.restarts, sink.failures) == (1, 1)
    assert {1, 2} <= set(numbers(query))


@pytest.mark.parametrize("kind", ["handle", "sst"])
def test_a_damaged_checkpoint_is_set_aside_for_an_older_one(query: RealQuery, lived: Lived, kind: str) -> None:
    run(query, TABLES_APART)
    query.add_input(FIRST, SECOND)
    run(query, TABLES_APART)
    hurt = newest_file(query, kind)
    data = bytearray(hurt.read_bytes())
    data[30] ^= 1
    hurt.write_bytes(data)
    (hurt.parent / f".{hurt.name}.crc").unlink(missing_ok=True)
    found = verify(CheckpointFolder(query.checkpoint))
    assert found.damaged
    # The second run replayed three batches after checkpoint 1, and a replay leaves their changelogs in storage.
    assert found.restart == Restart(checkpoint=1, batch=3, lag=3, changelogs=3)

    query.add_input(SECOND, ALL)
    run(query, TABLES_APART)
    assert (query.checkpoint / "snapline" / "chk-2" / "_metadata.damaged").exists()
    assert query.output() == lived.outputs[2]


def newest_file(query: RealQuery, kind: str) -> Path:
    """One that checkpoint 2 names, and checkpoint 1 does not."""
    named: dict[int, set[str]] = {}
    for each in CheckpointFolder(query.checkpoint).numbered.read():
        assert each.metadata is not None
        names = {Path(name).name for name in each.metadata.handle_names()}
        tables = {f"{file.uid}.sst" for _, _, handle in each.metadata.handles() for file in handle.files}
        named[each.id] = names if kind == "handle" else tables
    (name, *_) = sorted(named[2] - named[1])
    return next((query.checkpoint / "state").rglob(name))


def test_a_plain_start_fails_and_loses_nothing(query: RealQuery, lived: Lived) -> None:
    run(query, INTERVAL)
    query.add_input(FIRST, SECOND)
    before = all_files(query.checkpoint)
    with pytest.raises(Py4JJavaError, match=r"SNAPLINE-CONFIG.*snapline\.start"):
        query.go_on()
    assert all_files(query.checkpoint) == before
    assert query.output() == lived.outputs[0]
    run(query, INTERVAL)
    assert query.output() == lived.outputs[1]


def test_what_was_durable_before_there_was_an_interval_is_where_a_replay_begins(query: RealQuery, lived: Lived) -> None:
    """It fails before its first checkpoint, and Spark has purged the logs of its first batches."""
    query.go_on()
    for log in ("offsets", "commits"):
        for name in ("0", ".0.crc"):
            (query.checkpoint / log / name).unlink()
    query.add_input(FIRST, SECOND)
    with pytest.raises(StreamingQueryException, match="the sink is gone"):
        run(query, INTERVAL, sink=FailsOnce(4, always=True))
    assert numbers(query) == []
    found = verify(CheckpointFolder(query.checkpoint))
    assert (found.findings, found.restart) == ((), Restart(checkpoint=None, batch=3, lag=0))
    run(query, INTERVAL)
    query.add_input(SECOND, ALL)
    run(query, CheckpointConfig())
    assert query.state(lived.newest) == lived.state


class FailsOnce:
    """A foreachBatch that keeps what it gets; fails at a batch, once or always."""

    def __init__(self, batch: int, *, always: bool = False) -> None:
        self.batch, self.always = batch, always
        self.rows: dict[int, list[tuple[object, ...]]] = {}
        self.failures = 0

    def __call__(self, rows: DataFrame, batch: int) -> None:
        if batch == self.batch and (self.always or not self.failures):
            self.failures += 1
            raise RuntimeError("the sink is gone")
        self.rows[batch] = sorted((tuple(row) for row in rows.collect()), key=repr)

    def writer(self, query: RealQuery) -> DataStreamWriter:
        writer = query.result().writeStream.foreachBatch(self)
        return writer.option("checkpointLocation", str(query.checkpoint)).trigger(availableNow=True)


def test_a_failed_query_goes_on_by_itself(query: RealQuery, spark: SparkSession, tmp_path: Path) -> None:
    sound = RealQuery(spark, tmp_path / "sound")
    sound.add_input(0, FIRST)
    wanted = FailsOnce(-1)
    wanted.writer(sound).start().awaitTermination()

    sink = FailsOnce(2)
    running = snapline.start(sink.writer(query), INTERVAL, restart=FixedDelayRestart(attempts=2, delay=0.1))
    running.awaitTermination()
    assert (running.restarts, sink.failures, running.exception()) == (1, 1, None)
    assert not running.isActive
    assert sink.rows == wanted.rows
    assert running.checkpoints()["latest"]["restored"]["id"] == 1


def test_without_a_strategy_it_fails_for_good(query: RealQuery) -> None:
    running = snapline.start(FailsOnce(1, always=True).writer(query), INTERVAL, restart=NoRestart())
    with pytest.raises(StreamingQueryException, match="the sink is gone"):
        running.awaitTermination()
    assert not running.isActive
    assert isinstance(running.exception(), StreamingQueryException)
    # A failed query keeps its checkpoints by default.
    assert numbers(query) == [1]


def test_a_strategy_that_gives_up_raises_too(query: RealQuery) -> None:
    sink = FailsOnce(1, always=True)
    running = snapline.start(sink.writer(query), INTERVAL, restart=FixedDelayRestart(attempts=1, delay=0))
    with pytest.raises(StreamingQueryException, match="the sink is gone"):
        running.awaitTermination()
    assert (running.restarts, sink.failures) == (1, 2)


class Broken:
    """A user's restart strategy with an error in it."""

    def next_delay(self, now: float, failures: Sequence[float]) -> float | None:
        raise ZeroDivisionError("no delay")


def test_a_strategy_that_fails_is_heard_of(query: RealQuery) -> None:
    running = snapline.start(FailsOnce(1, always=True).writer(query), INTERVAL, restart=Broken())
    with pytest.raises(ZeroDivisionError, match="no delay") as caught:
        running.awaitTermination()
    assert isinstance(caught.value.__context__, StreamingQueryException)
    assert (running.exception(), running.restarts, running.isActive) == (caught.value, 0, False)


def test_a_checkpoint_when_somebody_asks(ticking: Ticking, tmp_path: Path) -> None:
    running = ticking(KEPT)
    assert running.trigger_checkpoint() == 2
    assert (tmp_path / "checkpoint" / "snapline" / "chk-2" / "_metadata").exists()
    history = running.checkpoints()
    assert json.loads(json.dumps(history)) == history
    assert history.keys() == {"counts", "summary", "latest", "history"}
    assert history["counts"] == {"restored": 0, "total": 2, "in_progress": 0, "completed": 2, "failed": 0}
    assert history["summary"].keys() == {"checkpointed_size", "state_size", "end_to_end_duration", "persisted_data"}
    assert [each["id"] for each in history["history"]] == [2, 1]
    newest = history["latest"]["completed"]
    assert newest == history["history"][0]
    assert (newest["status"], newest["num_subtasks"], newest["num_acknowledged_subtasks"]) == ("COMPLETED", 2, 2)
    assert newest["latest_ack_timestamp"] - newest["trigger_timestamp"] == newest["end_to_end_duration"]
    assert (newest["is_savepoint"], newest["discarded"]) == (False, False)


def test_what_a_recovery_made_durable_goes_when_checkpoints_have_passed_it(ticking: Ticking, tmp_path: Path) -> None:
    def changelogs() -> list[Path]:
        return list((tmp_path / "checkpoint" / "state").rglob("*.changelog"))

    config = CheckpointConfig(interval=RARELY, num_retained=2)
    running = ticking(config)
    wait_for(lambda: (tmp_path / "checkpoint" / "commits" / "3").exists())
    running.stop()
    again = ticking(config)
    assert changelogs(), "the version that a replay comes to is durable"
    again.trigger_checkpoint()
    wait_for(lambda: not changelogs())


def test_a_checkpoint_where_every_batch_is_durable(ticking: Ticking, tmp_path: Path) -> None:
    running = ticking(CheckpointConfig())
    assert running.trigger_checkpoint() == 2
    running.stop()
    found = verify(CheckpointFolder(tmp_path / "checkpoint"))
    assert (found.findings, found.restart, found.newest_loadable) == ((), None, found.newest)


def test_stop_keeps_checkpoints_by_default_and_a_later_start_takes_them(ticking: Ticking, tmp_path: Path) -> None:
    running = ticking(INTERVAL)
    assert running.isActive
    running.stop()
    assert (running.isActive, running.awaitTermination(1), running.exception()) == (False, True, None)
    assert (tmp_path / "checkpoint" / "snapline" / "chk-1" / "_metadata").exists()
    with pytest.raises(StorageFailure):
        running.trigger_checkpoint(timeout=1)
    again = ticking(INTERVAL)
    assert again.checkpoints()["latest"]["restored"]["id"] == 1
    # By default a cancelled query keeps them too.
    again.cancel()
    assert (tmp_path / "checkpoint" / "snapline" / "chk-2" / "_metadata").exists()


@pytest.mark.parametrize("retention", ["NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION"])
def test_cancel_removes_checkpoints_that_are_not_externalized(ticking: Ticking, tmp_path: Path, retention: str) -> None:
    config = CheckpointConfig(interval=RARELY, externalized_checkpoint_retention=retention)
    running = ticking(config)
    folder = tmp_path / "checkpoint" / "snapline"
    assert (folder / "chk-1" / "_metadata").exists()
    running.cancel()
    assert not list(folder.glob("chk-*/_metadata"))


def test_without_an_interval_a_checkpoint_waits_for_a_batch(query: RealQuery) -> None:
    writer = to_files(query).trigger(processingTime="100 milliseconds")
    running = snapline.start(writer, CheckpointConfig())
    try:
        wait_for(lambda: query.checkpoint.joinpath("commits").exists() and 3 in query.batches("commits"))
        wait_for(lambda: running.checkpoints()["counts"]["completed"] == 1)
        answers: list[object] = []

        def ask(seconds: float) -> None:
            try:
                answers.append(running.trigger_checkpoint(timeout=seconds))
            except StorageFailure as e:
                answers.append(e)

        ask(1)
        assert "within 1 s" in str(answers.pop())
        asking = threading.Thread(target=ask, args=(60,))
        asking.start()
        query.add_input(FIRST, SECOND)
        asking.join()
        assert answers == [2]
    finally:
        running.stop()


def test_two_coordinators_on_one_folder_are_refused(ticking: Ticking) -> None:
    running = ticking(INTERVAL)
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.* is running under a coordinator already"):
        ticking(INTERVAL)
    assert running.isActive


def test_without_a_checkpoint_folder_it_does_not_start(query: RealQuery) -> None:
    writer = query.result().writeStream.format("noop")
    with pytest.raises(InvalidConfiguration, match="no checkpointLocation"):
        snapline.start(writer, INTERVAL)
    with pytest.raises(InvalidConfiguration, match="both path and table"):
        snapline.start(to_files(query), INTERVAL, path="a", table="b")
    assert not query.checkpoint.exists()


def test_what_cannot_be_replayed_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = spark.readStream.format("socket").option("host", "localhost").option("port", 9).load()
    writer = lines.groupBy("value").count().writeStream.format("noop").outputMode("complete")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(InvalidConfiguration, match="cannot be read twice"):
        snapline.start(writer, INTERVAL)
    # What the session sets counts where no config is given.
    spark.conf.set(INTERVAL_SETTING, "10 s")
    try:
        with pytest.raises(InvalidConfiguration, match="cannot be read twice"):
            snapline.start(writer)
        spark.conf.set(INTERVAL_SETTING, "soon")
        with pytest.raises(InvalidConfiguration, match=r"execution\.checkpointing\.interval is 'soon'"):
            snapline.start(writer)
    finally:
        spark.conf.unset(INTERVAL_SETTING)
    assert not (tmp_path / "checkpoint").exists()


def test_one_damaged_file_of_the_only_checkpoint_ends_the_start_which_never_begins_empty(query: RealQuery) -> None:
    run(query, INTERVAL)
    query.add_input(FIRST, SECOND)
    run(query, INTERVAL)
    assert len(numbers(query)) == 1
    assert min(query.batches("offsets")) > 0
    handle = next((query.checkpoint / "state").rglob("*.handle"))
    content = bytearray(handle.read_bytes())
    content[len(content) // 2] ^= 1
    handle.write_bytes(content)
    output, commits = query.output(), query.batches("commits")
    # The first start finds the damage, the second no checkpoint at all.
    for _ in range(2):
        with pytest.raises(CheckpointDamaged, match="missing"):
            snapline.start(to_files(query), INTERVAL)
        assert query.output() == output
        assert query.batches("commits") == commits
