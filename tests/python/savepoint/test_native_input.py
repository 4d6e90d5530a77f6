"""Native savepoints that are damaged, foreign or do not fit: each wrong thing has its error, and nothing is written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from snapline.errors import (
    CheckpointDamaged,
    IncompatibleState,
    InvalidConfiguration,
    NotACheckpoint,
    StateNotFound,
    StorageFailure,
)
from snapline.inspect import SavepointFolder
from snapline.java_api import java_native_savepoints
from snapline.query import LocalFiles
from snapline.savepoint import (
    create_savepoint,
    native,
    read_savepoint,
    read_state,
    rescale_checkpoint,
    restore_savepoint,
    write_savepoint,
)
from snapline.savepoint.dispose import dispose_savepoint
from snapline.savepoint.native import NativeState, copy_state

from .queries import StatefulQuery
from .refusal import refused

STORE = "spark.sql.streaming.stateStore"
PROVIDER = f"{STORE}.providerClass"
MEMORY = "spark.snapline.execution.checkpointing.storage"
BACKEND = "spark.snapline.state.backend.type"


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``checkpoint`` and ``savepoint``."""
    work = tmp_path_factory.mktemp("made")
    query = StatefulQuery(spark, work, "keyed-function")
    query.add_input(range(4))
    query.run("checkpoint")
    create_savepoint(spark, str(work / "checkpoint"), str(work / "savepoint"), format="native")
    return work


def a_file(savepoint: Path) -> Path:
    return min((savepoint / "state/0/0").glob("*_*.*"))


def flip(savepoint: Path) -> None:
    data = bytearray(a_file(savepoint).read_bytes())
    data[len(data) // 2] ^= 1
    a_file(savepoint).write_bytes(data)


def cut(savepoint: Path) -> None:
    a_file(savepoint).write_bytes(a_file(savepoint).read_bytes()[:-1])


def lose(savepoint: Path) -> None:
    a_file(savepoint).unlink()


def double(savepoint: Path) -> None:
    shutil.copy(a_file(savepoint), savepoint / "state/0/1")


BY_ANOTHER_ATTEMPT = pytest.mark.parametrize(
    ("harm", "found"), [(cut, "bytes, and was written with"), (lose, "is gone")]
)


@pytest.mark.parametrize("harm", [flip, cut, lose, double])
def test_damage(spark: SparkSession, savepoint: Path, harm: Callable[[Path], None]) -> None:
    harm(savepoint)
    refused(spark, savepoint, CheckpointDamaged, "state/0", parallelism=5)
    with pytest.raises(CheckpointDamaged):
        SavepointFolder(savepoint).verify()


def test_what_it_says_of_itself(spark: SparkSession, made: Path) -> None:
    metadata = read_savepoint(LocalFiles(made / "savepoint"))
    assert (metadata.format, metadata.backend, len(metadata.stores)) == ("native", "rocksdb", 2)
    SavepointFolder(made / "savepoint").verify()
    counts = {
        folder: read_state(str(made / "savepoint"), 0, folder.partition("/")[2], session=spark).count()
        for folder in metadata.rows
    }
    assert counts == metadata.rows
    assert counts["operator-0/total"] == 23


def test_read_and_written_as_tables(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    total = read_state(str(made / "savepoint"), state="total", session=spark)
    assert sorted(total.collect()) == sorted(
        read_state(str(made / "checkpoint"), state="total", session=spark).collect()
    )
    some = total.where("key.k < 5")
    write_savepoint(str(made / "savepoint"), str(tmp_path / "less"), {(0, "total"): some}, session=spark)
    less = read_savepoint(LocalFiles(tmp_path / "less"))
    assert (less.format, less.stores, less.rows["operator-0/total"]) == ("canonical", (), 5)
    with pytest.raises(IncompatibleState, match="native"):
        SavepointFolder(made / "savepoint").read(state="total")


def test_parallelisms(spark: SparkSession, made: Path, savepoint: Path) -> None:
    refused(spark, savepoint, InvalidConfiguration, "between 1 and", parallelism=57_601)
    for parallelism in (0, 57_601):
        with pytest.raises(InvalidConfiguration, match="between 1 and"):
            rescale_checkpoint(
                spark, str(made / "checkpoint"), str(savepoint.parent / "target"), parallelism=parallelism
            )
    spark.conf.set("spark.snapline.max-parallelism", "128")
    try:
        refused(spark, savepoint, InvalidConfiguration, "57600 key groups", parallelism=3)
        target = savepoint.parent / "of another number of key groups"
        with pytest.raises(IncompatibleState, match="written with maxParallelism = 57600; the query has 128"):
            create_savepoint(spark, str(made / "checkpoint"), str(target), format="native")
        assert not list((target / "state").rglob("*"))
    finally:
        spark.conf.unset("spark.snapline.max-parallelism")


def test_a_format_that_is_none(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="clay"):
        create_savepoint(spark, str(made / "checkpoint"), str(tmp_path / "target"), format="clay")
    assert not (tmp_path / "target").exists()


def test_other_state_stores_have_other_files(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        query = StatefulQuery(spark, tmp_path, "dedup")
        query.add_input(range(1))
        query.run("checkpoint")
    finally:
        spark.conf.set(PROVIDER, str(before))
    for act in (
        lambda to: create_savepoint(spark, str(tmp_path / "checkpoint"), to, format="native"),
        lambda to: rescale_checkpoint(spark, str(tmp_path / "checkpoint"), to, parallelism=3),
    ):
        with pytest.raises(IncompatibleState, match="canonical"):
            act(str(tmp_path / "target"))
        assert not (tmp_path / "target").exists()


def test_state_in_memory_has_no_files(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    spark.conf.set(BACKEND, "hashmap")
    spark.conf.set(MEMORY, "memory")
    try:
        with pytest.raises(InvalidConfiguration, match="memory"):
            rescale_checkpoint(spark, str(made / "checkpoint"), str(tmp_path / "target"), parallelism=3)
    finally:
        spark.conf.unset(BACKEND)
        spark.conf.unset(MEMORY)
    assert not any((tmp_path / "target").glob("*"))


def test_rescaling_what_is_damaged_leaves_nothing(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    checkpoint = Path(shutil.copytree(made / "checkpoint", tmp_path / "checkpoint"))
    for path in (checkpoint / "state/0/1").glob("*_*.*"):
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CheckpointDamaged, match="state/0/1"):
        rescale_checkpoint(spark, str(checkpoint), str(tmp_path / "target"), parallelism=3)
    assert not any((tmp_path / "target").glob("*"))
    shutil.rmtree(checkpoint / "state/0/1")
    with pytest.raises(StateNotFound, match="state/0/1"):
        rescale_checkpoint(spark, str(checkpoint), str(tmp_path / "target"), parallelism=3)
    with pytest.raises(InvalidConfiguration, match="not empty"):
        rescale_checkpoint(spark, str(checkpoint), str(made / "savepoint"), parallelism=3)
    SavepointFolder(made / "savepoint").verify()


def test_one_that_is_cut_short_is_none(
    spark: SparkSession, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snapline.savepoint.create.read_back", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create_savepoint(spark, str(made / "checkpoint"), str(tmp_path / "half"), format="native")
    refused(spark, tmp_path / "half", NotACheckpoint, "never finished")
    dispose_savepoint(LocalFiles(tmp_path / "half"))
    assert not (tmp_path / "half").exists()


@BY_ANOTHER_ATTEMPT
def test_what_another_attempt_has_harmed_is_not_completed(
    spark: SparkSession,
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[Path], None],
    found: str,
) -> None:
    def copy_and_harm(*args: Any) -> NativeState:
        copied = copy_state(*args)
        harm(tmp_path / "harmed")
        return copied

    monkeypatch.setattr("snapline.savepoint.create.copy_state", copy_and_harm)
    with pytest.raises(StorageFailure, match=found):
        create_savepoint(spark, str(made / "checkpoint"), str(tmp_path / "harmed"), format="native")
    refused(spark, tmp_path / "harmed", NotACheckpoint, "never finished")


@BY_ANOTHER_ATTEMPT
def test_a_restore_that_another_attempt_has_harmed_is_not_completed(
    spark: SparkSession,
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[Path], None],
    found: str,
) -> None:
    to = tmp_path / "harmed"

    class Harming:
        def __init__(self, session: SparkSession) -> None:
            self._java = java_native_savepoints(session)

        def restore(self, *args: Any) -> Any:
            written = self._java.restore(*args)
            harm(to)
            return written

    monkeypatch.setattr(native, "java_native_savepoints", Harming)
    with pytest.raises(StorageFailure, match=found):
        restore_savepoint(spark, str(made / "savepoint"), str(to))
    assert b"restoring" in (to / "metadata").read_bytes(), "Spark refuses it"
