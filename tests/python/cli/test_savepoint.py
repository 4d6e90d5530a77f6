from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..spark_jar import need_jar
from .conftest import Run

SETTINGS = ("--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=2")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a deduplication with 350 keys."""
    need_jar()
    work = tmp_path_factory.mktemp("query")
    command = [sys.executable, "-m", "tests.python.inspect.real_query", str(work), "2"]
    subprocess.run(command, cwd=Path(__file__).parents[3], check=True, capture_output=True)
    return work / "checkpoint"


def snapline(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A process of its own: it starts Spark."""
    command = [sys.executable, "-m", "snapline", *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def answer(ran: subprocess.CompletedProcess[str]) -> str:
    """What a command said on standard output; on standard error it said nothing."""
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.whole
def test_from_the_first_to_the_last(run: Run, checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "savepoints" / "monday"
    made = snapline("savepoint", "create", checkpoint, "--to", path, *SETTINGS)
    assert "state default of operator 0 (dedupe)" in answer(made)
    told = run("savepoint", "describe", path, "--json")
    said = json.loads(told.out)
    assert (said["batch"], said["parallelism"]) == (5, 2)
    assert said["states"][0]["rows"] == 350
    assert "350" in run("savepoint", "describe", path).out
    assert "monday" in run("savepoint", "list", path.parent).out
    assert [each["id"] for each in json.loads(run("savepoint", "list", path.parent, "--json").out)] == [said["id"]]
    assert run("savepoint", "verify", path).code == 0

    restored = snapline("restore", path, "--to", tmp_path / "new", "--parallelism", 3, *SETTINGS)
    assert "goes on after batch 5" in answer(restored)
    summary = json.loads(run("checkpoints", "list", tmp_path / "new", "--json").out)
    assert (summary["newest_loadable"], summary["operators"][0]["stores"]) == (6, 3)
    again = snapline("restore", path, "--to", tmp_path / "new", *SETTINGS)
    assert again.returncode == 2
    assert "SNAPLINE-CONFIG" in again.stderr

    exported = snapline("savepoint", "export", path, "--to", tmp_path / "exported", "--provider", "rocksdb", *SETTINGS)
    assert exported.returncode == 0, exported.stderr
    assert len(list((tmp_path / "exported/state").rglob("*.zip"))) == 2
    assert json.loads(run("savepoint", "describe", path, "--json").out) == said
    back = snapline("savepoint", "create", tmp_path / "exported", "--to", tmp_path / "back", *SETTINGS)
    assert back.returncode == 0, back.stderr
    assert json.loads(run("savepoint", "describe", tmp_path / "back", "--json").out)["states"] == said["states"]

    part = next((path / "operator-0/default").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    harmed = run("savepoint", "verify", path)
    assert harmed.code == 1
    assert "SNAPLINE-DAMAGED" in harmed.err
    assert run("savepoint", "dispose", path).code == 0
    assert not path.exists()


def test_of_files_and_without_a_savepoint(run: Run, checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "native"
    made = snapline("savepoint", "create", checkpoint, "--to", path, "--format", "native", *SETTINGS)
    assert "files of the state" in answer(made)
    said = json.loads(run("savepoint", "describe", path, "--json").out)
    assert (said["format"], said["states"][0]["rows"]) == ("native", 350)
    assert "native" in run("savepoint", "describe", path).out
    assert "native" in run("savepoint", "list", tmp_path).out
    assert run("savepoint", "verify", path).code == 0
    rescaled = snapline("rescale", checkpoint, "--to", tmp_path / "new", "--parallelism", 3, *SETTINGS)
    assert "goes on after batch 5" in answer(rescaled)
    summary = json.loads(run("checkpoints", "list", tmp_path / "new", "--json").out)
    assert (summary["newest_loadable"], summary["operators"][0]["stores"]) == (6, 3)
    assert run("checkpoints", "verify", tmp_path / "new").code == 0
    assert run("savepoint", "dispose", path).code == 0
    assert not path.exists()
    wrong = run("savepoint", "create", checkpoint, "--to", path, "--format", "clay")
    assert (wrong.code, "SNAPLINE-CONFIG" in wrong.err) == (2, True)


def test_what_is_no_savepoint(run: Run, tmp_path: Path) -> None:
    for command in ("describe", "verify", "dispose"):
        said = run("savepoint", command, tmp_path)
        assert said.code == 2
        assert "SNAPLINE-NOT-A-CHECKPOINT" in said.err
    assert tmp_path.exists()
    assert json.loads(run("savepoint", "list", tmp_path, "--json").out) == []


def test_wrong_options_are_told_before_spark_starts(run: Run, tmp_path: Path) -> None:
    for command, text in (
        (("restore", tmp_path, "--map", "0"), "OLD=NEW"),
        (("restore", tmp_path, "--map", "0=1", "--map", "0=2"), "twice"),
        (("savepoint", "export", tmp_path, "--provider", "hdfs"), "cannot begin at a later version"),
        (("savepoint", "export", tmp_path, "--provider", "bolt"), "is not known"),
    ):
        said = run(*command, "--to", tmp_path / "new")
        assert said.code == 2
        assert "SNAPLINE-CONFIG" in said.err
        assert text in " ".join(said.err.split())
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_not_there_has_no_list(run: Run, tmp_path: Path) -> None:
    for more in ((), ("--json",)):
        said = run("savepoint", "list", tmp_path / "nowhere", *more)
        assert (said.code, said.out) == (2, "")
        assert "SNAPLINE-NOT-FOUND" in said.err
        assert "nowhere does not exist" in said.err
    said = run("savepoint", "list", tmp_path)
    assert (said.code, said.out) == (0, f"No savepoint lies directly below {tmp_path}.\n")


def test_settings_without_a_value_are_told(run: Run, tmp_path: Path) -> None:
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    said = run("savepoint", "create", tmp_path, "--to", tmp_path / "new", "--conf", "spark.x")
    assert (said.code, "--conf spark.x has no =" in said.err) == (2, True)


def test_errors_and_warnings_are_heard_through_the_quiet(checkpoint: Path, tmp_path: Path) -> None:
    """What only the JVM finds out: the answer is one line of ours."""
    path = tmp_path / "copy"
    shutil.copytree(checkpoint, path)
    for offset in (path / "offsets").glob("[0-9]*"):
        offset.unlink()
    said = snapline("savepoint", "create", path, "--to", tmp_path / "new", *SETTINGS)
    assert said.returncode in (1, 2)
    assert said.stdout == ""
    (line,) = said.stderr.splitlines()
    assert line.startswith("[SNAPLINE-")


def test_shows_what_was_never_finished(run: Run, tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half/_unfinished").touch()
    assert "never finished" in run("savepoint", "list", tmp_path).out
    assert run("savepoint", "dispose", tmp_path / "half").code == 0
    assert not (tmp_path / "half").exists()
