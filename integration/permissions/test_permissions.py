"""Files have the permissions that Hadoop's umask leaves, whatever the umask of the process; working state is closed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .job import write

ROOT = Path(__file__).parents[2]
LONGEST = 300


@dataclass(frozen=True)
class Made:
    folder: Path
    #: What Hadoop's setting takes away.
    masked: int


@pytest.fixture(
    scope="module",
    params=[(0o022, None), (0o077, None), (0o022, "077"), (0o000, "027")],
    ids=["umask-022", "umask-077", "umask-022-hadoop-077", "umask-000-hadoop-027"],
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Checkpoints, merged files, a replay and savepoints, while the query runs."""
    umask, mode = request.param
    folder = tmp_path_factory.mktemp("made")
    (folder / "input").mkdir()
    for number in range(3):
        write(folder, number)
    command = [sys.executable, "-m", "integration.permissions.job", str(folder), *([] if mode is None else [mode])]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, umask=umask, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdout is not None
        try:
            said = next((line for line in process.stdout if line == "ready\n"), "")
            assert said, (folder / "log").read_text()[-3000:]
            yield Made(folder, 0o022 if mode is None else int(mode, 8))
        finally:
            process.communicate(timeout=LONGEST)
    assert process.returncode == 0, (folder / "log").read_text()[-3000:]


def files_in(folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert len(found) > 3, folder
    return found


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("place", ["checkpoint/state", "checkpoint/snapline", "canonical", "native"])
def test_what_is_stored_has_the_permissions_that_hadoop_is_set_to(made: Made, place: str) -> None:
    wrong = {
        str(path): oct(mode_of(path)) for path in files_in(made.folder / place) if mode_of(path) != 0o666 & ~made.masked
    }
    assert not wrong


def test_every_kind_of_file_was_looked_at(made: Made) -> None:
    names = {path.name.rpartition(".")[2] for path in files_in(made.folder / "checkpoint")}
    assert {"handle", "sst", "merged", "interval", "_metadata"} <= names
    assert list((made.folder / "checkpoint/snapline/claims").iterdir())


def test_files_belong_to_who_runs_the_query(made: Made) -> None:
    assert {path.stat().st_uid for path in files_in(made.folder)} == {os.getuid()}


def test_nobody_else_enters_the_working_state(made: Made) -> None:
    """Whatever the files in it are like: a folder above them is closed."""
    working = [path for path in files_in(made.folder / "local") if "db-" in str(path)]
    assert working, "there is state on the disk"
    for path in working:
        above = [each for each in path.parents if made.folder / "local" in each.parents]
        assert any(mode_of(each) & 0o077 == 0 for each in above), path


def test_folders_let_in_whom_their_files_let_in(made: Made) -> None:
    """No folder is open to more people than Hadoop's setting says."""
    folders = [path for path in (made.folder / "checkpoint").rglob("*") if path.is_dir()]
    assert folders
    wrong = {str(path): oct(mode_of(path)) for path in folders if mode_of(path) & made.masked}
    assert not wrong
