from __future__ import annotations

import json
from pathlib import Path

import pytest

from snapline.format import Kind

from ..format.writer import make_ref
from ..inspect.builder import CheckpointBuilder, put
from .conftest import Run


def test_list_shows_versions_sizes_and_what_was_uploaded(sample: CheckpointBuilder, run: Run) -> None:
    code, out, err = run("checkpoints", "list", sample.root)
    assert (code, err) == (0, "")
    state = next(line for line in out.splitlines() if line.startswith("0 stateStoreSave"))
    assert state.split()[2:7] == ["2", "6", "1-6", "4", "30"]
    assert "100 %" in out
    assert "The query can go on from version 6, the state after batch 5." in out


def test_list_as_json(sample: CheckpointBuilder, run: Run) -> None:
    found = json.loads(run("checkpoints", "list", "--json", sample.root).out)
    assert found["newest_loadable"] == 6
    assert [operator["name"] for operator in found["operators"]] == ["stateStoreSave", "symmetricHashJoin"]
    assert found["operators"][0]["snapshots"][0]["version"] == 3


def test_list_without_state(tmp_path: Path, run: Run) -> None:
    CheckpointBuilder(tmp_path / "c").finish_batch(0)
    assert "It holds no state" in run("checkpoints", "list", tmp_path / "c").out


def test_list_without_snapshots(tmp_path: Path, run: Run) -> None:
    checkpoint = CheckpointBuilder(tmp_path / "c")
    checkpoint.add_store(0, 0).commit(put(b"a", b"1"))
    checkpoint.finish_batch(0)
    assert "No snapshot yet" in run("checkpoints", "list", tmp_path / "c").out
    checkpoint.close()


def test_describe_counts_keys(sample: CheckpointBuilder, run: Run) -> None:
    out = run("checkpoints", "describe", sample.root).out
    assert "snapshot 5 + 1 changelog" in out
    assert any(line.split()[:4] == ["0", "default", "1", "timers"] for line in out.splitlines())


def test_describe_one_partition_shows_files(sample: CheckpointBuilder, run: Run) -> None:
    out = run("checkpoints", "describe", sample.root, "--operator", 1, "--partition", 0, "--version", 4).out
    assert "operator 1 partition 0 right" in out
    assert make_ref(3).file_name(Kind.HANDLE) in out
    assert make_ref(4).file_name(Kind.CHANGELOG) in out
    assert make_ref(5).file_name(Kind.CHANGELOG) not in out


def test_describe_as_json(sample: CheckpointBuilder, run: Run) -> None:
    (store,) = json.loads(run("checkpoints", "describe", sample.root, "--operator=0", "--partition=1", "--json").out)
    assert (store["version"], store["snapshot"]["version"], len(store["changelogs"])) == (6, 5, 1)
    assert {family["name"]: family["keys"] for family in store["families"]} == {"default": 235, "timers": 6}
    on_disk = sum((sample.root / file["path"]).stat().st_size for file in store["files"])
    assert on_disk == sum(file["bytes"] for file in store["files"])


def test_names_are_shown_as_they_are(tmp_path: Path, run: Run) -> None:
    checkpoint = CheckpointBuilder(tmp_path / "c")
    checkpoint.add_store(0, 0, families=("[red]odd[/]",)).commit(put(b"a", b"1"))
    assert "[red]odd[/]" in run("checkpoints", "describe", tmp_path / "c").out
    checkpoint.close()


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--operator", "9"], 2, "[SNAPLINE-NOT-FOUND]"),
        (["--partition", "9"], 2, "[SNAPLINE-NOT-FOUND]"),
        (["--version", "9"], 2, "from 1 to 6"),
        (["--version", "0"], 2, "--version"),
        (["--operator", "x"], 2, "--operator"),
    ],
)
def test_describe_what_is_not_there(
    sample: CheckpointBuilder, run: Run, options: list[str], code: int, text: str
) -> None:
    ran = run("checkpoints", "describe", sample.root, *options)
    assert ran.code == code
    assert text in ran.err
    assert "Traceback" not in ran.err


def test_verify_what_is_sound(sample: CheckpointBuilder, run: Run) -> None:
    ran = run("checkpoints", "verify", sample.root)
    assert (ran.code, ran.err) == (0, "")
    assert "Everything is sound. The query can go on from version 6" in ran.out


def test_verify_what_is_damaged(sample: CheckpointBuilder, run: Run) -> None:
    hurt = sample.stores[0].path(make_ref(6), Kind.CHANGELOG)
    hurt.write_bytes(hurt.read_bytes() + b"x")
    ran = run("checkpoints", "verify", sample.root)
    assert ran.code == 1
    assert "SNAPLINE-DAMAGED" in ran.out
    assert hurt.name in ran.out
    assert "The newest that loads is version 5, the state after batch 4." in ran.out
    found = json.loads(run("checkpoints", "verify", "--json", sample.root).out)
    assert (found["damaged"], found["newest"], found["newest_loadable"]) == (True, 6, 5)
    assert {finding["code"] for finding in found["findings"]} == {"SNAPLINE-DAMAGED"}


def test_a_damaged_version_is_no_wrong_use(sample: CheckpointBuilder, run: Run) -> None:
    sample.stores[0].path(make_ref(6), Kind.CHANGELOG).write_bytes(b"")
    ran = run("checkpoints", "describe", sample.root, "--version", 6)
    assert (ran.code, ran.err.split("]")[0]) == (1, "[SNAPLINE-DAMAGED")


@pytest.mark.parametrize("command", ["list", "describe", "verify"])
def test_what_is_no_checkpoint(tmp_path: Path, run: Run, command: str) -> None:
    ran = run("checkpoints", command, tmp_path / "absent")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("[SNAPLINE-NOT-A-CHECKPOINT]")
    assert "Traceback" not in ran.err
