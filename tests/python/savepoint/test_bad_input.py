"""Each wrong thing has its error, and nothing is written."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from snapline.errors import (
    CheckpointDamaged,
    IncompatibleState,
    InvalidConfiguration,
    NotACheckpoint,
    StateNotFound,
    UnsupportedVersion,
)
from snapline.format import Kind
from snapline.format.frame import crc32c, write_meta_frame
from snapline.query import HadoopFiles, LocalFiles
from snapline.savepoint import SavepointFile, create_savepoint, read_savepoint, read_state, restore_savepoint
from snapline.savepoint.dispose import dispose_savepoint

from .queries import StatefulQuery
from .refusal import refused

STATE = "operator-0/default"


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``checkpoint`` and ``savepoint``."""
    work = tmp_path_factory.mktemp("made")
    query = StatefulQuery(spark, work, "dedup")
    query.add_input(range(2))
    query.run("checkpoint")
    create_savepoint(spark, str(work / "checkpoint"), str(work / "savepoint"))
    return work


def a_part(savepoint: Path) -> Path:
    return next((savepoint / STATE).glob("*.parquet"))


def drop_checksums(savepoint: Path) -> None:
    """Hadoop's own, which would find the harm first."""
    for path in savepoint.rglob(".*.crc"):
        path.unlink()


def test_a_copy_is_as_good(spark: SparkSession, savepoint: Path) -> None:
    restore_savepoint(spark, str(savepoint), str(savepoint.parent / "target"), parallelism=3)
    rows = read_savepoint(LocalFiles(savepoint)).rows[STATE]
    assert read_state(str(savepoint.parent / "target"), session=spark).count() == rows > 0


def flip(savepoint: Path) -> None:
    data = bytearray(a_part(savepoint).read_bytes())
    data[len(data) // 2] ^= 1
    a_part(savepoint).write_bytes(data)


def cut(savepoint: Path) -> None:
    a_part(savepoint).write_bytes(a_part(savepoint).read_bytes()[:-1])


def lose(savepoint: Path) -> None:
    a_part(savepoint).unlink()


def double(savepoint: Path) -> None:
    shutil.copy(a_part(savepoint), savepoint / STATE / "part-9.parquet")


def harm_spark_file(savepoint: Path) -> None:
    path = savepoint / "spark/sources/0/0"
    path.write_text(path.read_text().replace("000", "001"))


def cut_metadata(savepoint: Path) -> None:
    (savepoint / "_metadata").write_bytes((savepoint / "_metadata").read_bytes()[:-5])


@pytest.mark.parametrize("harm", [flip, cut, lose, double, harm_spark_file, cut_metadata])
def test_damage(spark: SparkSession, savepoint: Path, harm: Callable[[Path], None]) -> None:
    drop_checksums(savepoint)
    harm(savepoint)
    refused(spark, savepoint, CheckpointDamaged, "part-|sources|_metadata")


def test_a_later_version(spark: SparkSession, savepoint: Path) -> None:
    drop_checksums(savepoint)
    data = bytearray((savepoint / "_metadata").read_bytes())
    data[8:10] = (4).to_bytes(2, "little")
    data[12:16] = crc32c(bytes(data[:12])).to_bytes(4, "little")
    (savepoint / "_metadata").write_bytes(data)
    refused(spark, savepoint, UnsupportedVersion, "format 4")


def test_other_folders(spark: SparkSession, made: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(spark, tmp_path / "empty", NotACheckpoint, "no savepoint")
    refused(spark, tmp_path / "absent", NotACheckpoint, "no savepoint")
    with pytest.raises(NotACheckpoint, match="no savepoint"):
        restore_savepoint(spark, str(made / "checkpoint"), str(tmp_path / "target"))
    with pytest.raises(NotACheckpoint, match="offsets"):
        create_savepoint(spark, str(made / "input"), str(tmp_path / "target"))
    assert not (tmp_path / "target").exists()


def test_one_that_was_never_finished(spark: SparkSession, savepoint: Path) -> None:
    (savepoint / "_metadata").rename(savepoint / "_unfinished")
    refused(spark, savepoint, NotACheckpoint, "never finished")


def test_a_parallelism_out_of_range(spark: SparkSession, savepoint: Path) -> None:
    refused(spark, savepoint, InvalidConfiguration, "between 1 and", parallelism=57_601)
    refused(spark, savepoint, InvalidConfiguration, "between 1 and", parallelism=0)


def test_other_key_groups(spark: SparkSession, savepoint: Path) -> None:
    spark.conf.set("spark.snapline.max-parallelism", "128")
    try:
        refused(spark, savepoint, InvalidConfiguration, "57600 key groups")
    finally:
        spark.conf.unset("spark.snapline.max-parallelism")


@pytest.mark.parametrize("all_parts", [True, False])
def test_a_schema_that_does_not_fit(spark: SparkSession, savepoint: Path, *, all_parts: bool) -> None:
    """Of parts that another tool wrote, with everything else made to fit."""
    drop_checksums(savepoint)
    metadata = read_savepoint(LocalFiles(savepoint))
    files = {file.name: file for file in metadata.files}
    parts = sorted((savepoint / STATE).glob("*.parquet"))
    for part in parts if all_parts else parts[:1]:
        table = pq.read_table(part)
        keys = [{"k": str(row["k"]), "v": row["v"]} for row in table.column("key").to_pylist()]
        pq.write_table(table.set_column(2, "key", pa.array(keys)).replace_schema_metadata(None), part)
        name = part.relative_to(savepoint).as_posix()
        files[name] = SavepointFile(name, part.stat().st_size, crc32c(part.read_bytes()))
    forged = dataclasses.replace(metadata, files=tuple(files.values()))
    (savepoint / "_metadata").write_bytes(forged.to_bytes())
    refused(spark, savepoint, IncompatibleState, "columns")


def test_a_target_that_is_not_empty(spark: SparkSession, made: Path, savepoint: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="not empty"):
        restore_savepoint(spark, str(savepoint), str(made / "checkpoint"))
    with pytest.raises(InvalidConfiguration, match="not empty"):
        create_savepoint(spark, str(made / "checkpoint"), str(savepoint))
    (savepoint.parent / "half").mkdir()
    (savepoint.parent / "half/metadata").write_text(json.dumps({"restoring": "x"}))
    with pytest.raises(InvalidConfiguration, match="cut short"):
        restore_savepoint(spark, str(savepoint), str(savepoint.parent / "half"))


def test_what_is_not_there(spark: SparkSession, made: Path, savepoint: Path) -> None:
    for path in (made / "checkpoint", savepoint):
        with pytest.raises(StateNotFound, match="operator 0"):
            read_state(str(path), operator=7, session=spark)
        with pytest.raises(StateNotFound, match="has default"):
            read_state(str(path), state="total", session=spark)
    with pytest.raises(StateNotFound, match="no checkpoint 4"):
        create_savepoint(spark, str(made / "checkpoint"), str(made / "no"), number=4)
    assert not (made / "no").exists()


def test_a_restore_that_is_cut_short_cannot_be_started(
    spark: SparkSession, savepoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = savepoint.parent / "target"
    monkeypatch.setattr("snapline.savepoint.restore.moved_commit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        restore_savepoint(spark, str(savepoint), str(target))
    query = StatefulQuery(spark, savepoint.parent, "dedup")
    query.add_input(range(1))
    with pytest.raises(Exception, match="id"):
        query.run("target")
    assert not (target / "commits").exists()
    assert sorted(path.name for path in (target / "offsets").iterdir() if path.name.isdigit()) == ["1", "2"]


def test_a_savepoint_that_is_cut_short_is_none(
    spark: SparkSession, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "half"
    monkeypatch.setattr("snapline.savepoint.create.read_back", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create_savepoint(spark, str(made / "checkpoint"), str(target))
    refused(spark, target, NotACheckpoint, "never finished")
    dispose_savepoint(LocalFiles(target))
    assert not target.exists()
    with pytest.raises(NotACheckpoint):
        dispose_savepoint(LocalFiles(made / "checkpoint"))
    assert (made / "checkpoint/metadata").exists()


@pytest.mark.parametrize("hadoop", [False, True])
def test_a_folder_that_has_another_metadata_is_not_disposed_of(
    spark: SparkSession, made: Path, tmp_path: Path, hadoop: bool
) -> None:
    """That of an operator of Spark, a numbered checkpoint, a table of Parquet files."""
    checkpoint, table = tmp_path / "snapline/chk-7", tmp_path / "table"
    for folder, metadata in ((checkpoint, write_meta_frame(Kind.CHECKPOINT, b"{}")), (table, b"PAR1 and more")):
        folder.mkdir(parents=True)
        (folder / "_metadata").write_bytes(metadata)
    (tmp_path / "short").mkdir()
    (tmp_path / "short/_metadata").write_bytes(b"SNAP")
    for folder in (made / "checkpoint/state/0", checkpoint, table, tmp_path / "short"):
        before = sorted(folder.rglob("*"))
        with pytest.raises(NotACheckpoint):
            dispose_savepoint(HadoopFiles(spark, str(folder)) if hadoop else LocalFiles(folder))
        assert sorted(folder.rglob("*")) == before
