"""Commands that start Spark, with paths that cannot be: told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..savepoint.test_metadata import sample as metadata
from .conftest import Run


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that would start a JVM fails the test."""

    def started(*_: object) -> None:
        raise AssertionError("a JVM is started")

    monkeypatch.setattr("snapline.cli.savepoint.spark_session", started)


@pytest.fixture
def savepoint(tmp_path: Path) -> Path:
    """What `_metadata` says is all that is looked at before Spark starts."""
    path = tmp_path / "monday"
    path.mkdir()
    (path / "_metadata").write_bytes(metadata().to_bytes())
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a-file").touch()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "_unfinished").touch()
    for name in ("offsets", "commits", "snapline/chk-3", "snapline/chk-12"):
        (tmp_path / "query" / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.usefixtures("no_spark", "savepoint")
@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("savepoint create nowhere --to new", "NOT-A-CHECKPOINT", "nowhere does not exist"),
        ("savepoint create full --to new", "NOT-A-CHECKPOINT", "has not both offsets/ and commits/"),
        ("savepoint create query --to full", "CONFIG", "is not empty: it has a-file"),
        ("savepoint create query --to new --checkpoint 4", "NOT-FOUND", "no checkpoint 4 in"),
        ("savepoint create query --to new --checkpoint 4", "NOT-FOUND", "there is 3, 12"),
        ("savepoint create file:WORK/nowhere --to new", "NOT-A-CHECKPOINT", "nowhere does not exist"),
        ("restore nowhere --to new", "NOT-A-CHECKPOINT", "nowhere does not exist"),
        ("restore full --to new", "NOT-A-CHECKPOINT", "this is no savepoint"),
        ("restore half --to new", "NOT-A-CHECKPOINT", "never finished"),
        ("restore monday --to full", "CONFIG", "is not empty: it has a-file"),
        ("restore monday --to new --map 9=1", "CONFIG", "9"),
        ("restore monday --to new --parallelism 100000", "CONFIG", "the parallelism 100000 is not between"),
        ("savepoint export nowhere --to new", "NOT-A-CHECKPOINT", "nowhere does not exist"),
        ("savepoint export monday --to full", "CONFIG", "is not empty: it has a-file"),
        ("rescale nowhere --to new --parallelism 3", "NOT-A-CHECKPOINT", "nowhere does not exist"),
        ("rescale query --to full --parallelism 3", "CONFIG", "is not empty: it has a-file"),
        ("rescale query --to new --parallelism 3 --checkpoint 4", "NOT-FOUND", "no checkpoint 4 in"),
        ("savepoint dispose file:WORK/nowhere", "NOT-A-CHECKPOINT", "nowhere is no savepoint"),
    ],
)
def test_wrong_paths_are_told_before_spark_starts(
    run: Run, wrong: Path, monkeypatch: pytest.MonkeyPatch, command: str, code: str, text: str
) -> None:
    monkeypatch.chdir(wrong)
    said = run(*command.replace("WORK", str(wrong)).split())
    assert said.code == 2
    assert f"[SNAPLINE-{code}]" in said.err
    assert text in said.err
    assert not (wrong / "new").exists()


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("more", "environment"),
    [
        (("--conf", "spark.hadoop.fs.defaultFS=hdfs://name:9000"), {}),
        ((), {"HADOOP_CONF_DIR": "/etc/hadoop"}),
        ((), {"PYSPARK_SUBMIT_ARGS": "--conf spark.hadoop.fs.defaultFS=hdfs://name:9000 pyspark-shell"}),
        ((), {"SPARK_CONF_DIR": "."}),
    ],
)
def test_where_paths_may_be_of_another_file_system_spark_is_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], environment: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "core-site.xml").touch()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(AssertionError, match="a JVM is started"):
        run("savepoint", "create", "nowhere", "--to", "new", *more)
    # With its scheme it is known to be none of that.
    said = run("savepoint", "create", f"file:{tmp_path}/nowhere", "--to", "new", *more)
    assert "nowhere does not exist" in said.err
