from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from snapline.errors import StateNotFound, StorageFailure
from snapline.folder.files import FileSource, side_by_side
from snapline.query import Files, HadoopFiles, LocalFiles


@pytest.fixture(params=["local", "hadoop"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "local":
        return LocalFiles(tmp_path)
    return HadoopFiles(request.getfixturevalue("spark"), f"file:{tmp_path}")


def put(path: Path, checksum: bytes | None = b"crc\0") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"data")
    if checksum is not None:
        path.with_name(f".{path.name}.crc").write_bytes(checksum)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_writes_what_it_reads(files: Files, tmp_path: Path) -> None:
    files.write_new("a/b/c", b"\0\xff text")
    assert files.read("a/b/c") == b"\0\xff text"
    assert (tmp_path / "a/b/c").read_bytes() == b"\0\xff text"
    assert files.exists("a/b/c")
    assert files.exists("a")
    assert files.list("a/b") == ["c"]
    assert files.list("a") == ["b"]
    assert [name for name in names(tmp_path) if name.endswith(".tmp")] == []
    files.write_new("empty", b"")
    assert files.read("empty") == b""


def test_reads_a_part(files: Files) -> None:
    files.write_new("a/b", b"0123456789")
    source = FileSource(files, "a/b")
    assert source.size == files.size("a/b") == 10
    assert source.path == f"{files.location}/a/b"
    assert [source.read_at(7, 3), source.read_at(0, 10), source.read_at(4, 0)] == [b"789", b"0123456789", b""]
    for read in (lambda: files.size("a/c"), lambda: files.read_at("a/c", 0, 1), lambda: FileSource(files, "a/c")):
        with pytest.raises(StateNotFound):
            read()


def test_walks(files: Files, tmp_path: Path) -> None:
    for name in ("a/b/c", "a/d", "e"):
        files.write_new(name, b"1")
    put(tmp_path / "a/.hidden/f")
    assert files.walk("a") == ["b/c", "d"]
    assert files.walk("") == ["a/b/c", "a/d", "e"]
    assert files.list("") == ["a", "e"]
    assert files.walk("nowhere") == []


def test_tells_lengths(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "a/b")
    put(tmp_path / "a/.hidden/c")
    (tmp_path / "d").write_bytes(b"")
    files = HadoopFiles(spark, f"file:{tmp_path}")
    assert files.lengths("") == {"a/b": 4, "d": 0}
    assert files.lengths("a") == {"b": 4}
    assert files.lengths("nowhere") == {}


def test_walks_without_side_files(spark: SparkSession, tmp_path: Path) -> None:
    """As on an object store, where one listing has all files."""
    put(tmp_path / "a/b", checksum=None)
    (tmp_path / "a/.hidden").mkdir()
    put(tmp_path / "a/.hidden/c", checksum=None)
    put(tmp_path / "d", checksum=None)
    conf = spark._jsparkSession.sessionState().conf()
    conf.setConfString("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem")
    conf.setConfString("fs.file.impl.disable.cache", "true")
    try:
        files = HadoopFiles(spark, f"file:{tmp_path}")
        assert files._raw is None
        assert files.walk("") == ["a/b", "d"]
        assert files.walk("nowhere") == []
    finally:
        for name in ("fs.file.impl", "fs.file.impl.disable.cache"):
            conf.unsetConf(name)


def test_no_process_is_started_for_a_local_file(spark: SparkSession, tmp_path: Path) -> None:
    """Each would take a hundredth of a second, and Spark's logs several."""
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    files, path_of = HadoopFiles(spark, f"file:{tmp_path}"), jvm.org.apache.hadoop.fs.Path
    context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(spark._jsparkSession.sessionState().newHadoopConf())
    options = gateway.new_array(getattr(jvm, "org.apache.hadoop.fs.Options$Rename"), 0)
    records = jvm.java.nio.file.Path.of(str(tmp_path / "started.jfr"), gateway.new_array(jvm.String, 0))
    with closing(jvm.jdk.jfr.Recording()) as recording:
        recording.enable("jdk.ProcessStart")
        recording.start()
        jvm.java.lang.Runtime.getRuntime().exec(f"true {tmp_path}").waitFor()
        for number in range(50):
            files.write_new(f"folder-{number}/a", b"")
            context.rename(path_of(f"{tmp_path}/folder-{number}/a"), path_of(f"{tmp_path}/folder-{number}/b"), options)
        recording.stop()
        recording.dump(records)
    assert (tmp_path / "folder-49/b").exists()
    commands = [event.getString("command") for event in jvm.jdk.jfr.consumer.RecordingFile.readAllEvents(records)]
    # The first proves that a process would be seen; the session's own processes have nothing to do with the folder.
    assert [command for command in commands if str(tmp_path) in command] == [f"true {tmp_path}"]


def test_acts_side_by_side(files: Files) -> None:
    wanted = [f"folder/{number}" for number in range(40)]
    side_by_side(lambda name: files.write_new(name, name.encode()), wanted)
    assert sorted(f"folder/{name}" for name in files.list("folder")) == sorted(wanted)
    assert all(files.read(name) == name.encode() for name in wanted)


def test_nothing_goes_on_when_one_has_failed(files: Files) -> None:
    ended = threading.Event()

    def act(name: str) -> None:
        if name == "bad":
            raise StorageFailure("no", "no")
        time.sleep(0.2)
        files.write_new(name, b"")
        ended.set()

    with pytest.raises(StorageFailure):
        side_by_side(act, ["good", "bad"])
    assert ended.is_set()
    assert files.exists("good")


def test_overwrites_nothing(files: Files) -> None:
    files.write_new("a", b"1")
    files.write_new("b", b"2")
    with pytest.raises(StorageFailure, match="a exists already"):
        files.write_new("a", b"3")
    with pytest.raises(StorageFailure, match="a exists already"):
        files.rename("b", "a")
    assert (files.read("a"), files.read("b")) == (b"1", b"2")


def test_what_is_not_there(files: Files) -> None:
    assert files.list("nowhere") == []
    assert not files.exists("nowhere/a")
    files.delete("nowhere/a")
    with pytest.raises(StateNotFound, match="nowhere/a"):
        files.read("nowhere/a")
    with pytest.raises(StateNotFound, match="nowhere/a"):
        files.rename("nowhere/a", "b")


def test_a_checksum_goes_where_its_file_goes(files: Files, tmp_path: Path) -> None:
    put(tmp_path / "commits/7")
    files.rename("commits/7", "hidden/commits/7")
    assert names(tmp_path) == ["hidden/commits/.7.crc", "hidden/commits/7"]
    assert files.list("hidden/commits") == ["7"]
    files.delete("hidden/commits/7")
    assert names(tmp_path) == []


def test_a_checksum_left_behind_does_not_stay(files: Files, tmp_path: Path) -> None:
    put(tmp_path / "commits/7")
    (tmp_path / "commits/7").unlink()
    files.delete("commits/7")
    assert names(tmp_path) == []
    put(tmp_path / "commits/8")
    (tmp_path / "commits/8").unlink()
    put(tmp_path / "hidden/8", None)
    files.rename("hidden/8", "commits/8")
    assert names(tmp_path) == ["commits/8"]
    put(tmp_path / "commits/9")
    (tmp_path / "commits/9").unlink()
    files.write_new("commits/9", b"anew")
    assert files.read("commits/9") == b"anew"


def test_a_folder_goes_with_all_in_it(files: Files, tmp_path: Path) -> None:
    put(tmp_path / "snapline/1")
    put(tmp_path / "other/1")
    files.delete("snapline")
    assert names(tmp_path) == ["other/.1.crc", "other/1"]


def test_refusals_are_told(files: Files, tmp_path: Path) -> None:
    put(tmp_path / "a", None)
    with pytest.raises(StorageFailure):
        files.write_new("a/b", b"")
