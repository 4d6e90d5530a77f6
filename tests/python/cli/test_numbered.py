"""Numbered checkpoints in `snapline checkpoints`."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapline.folder.metadata import parse_checkpoint
from snapline.format import Kind

from ..format.writer import make_ref
from ..inspect.builder import CheckpointBuilder, build_sample
from ..inspect.numbered import build_interval_sample, checkpoint_meta, write_checkpoint
from .conftest import Run

LAG = (
    "A restart takes checkpoint 2, the state after batch 4. 1 batch since checkpoint 2, rebuilt by replay at the next "
    "start with snapline.start"
)


@pytest.fixture
def interval(tmp_path: Path) -> Iterator[CheckpointBuilder]:
    """Six batches, checkpoint 1 of batch 2 and 2 of batch 4, and nothing else."""
    checkpoint = build_interval_sample(tmp_path / "checkpoint")
    yield checkpoint
    checkpoint.close()


def metadata(checkpoint: CheckpointBuilder, number: int) -> Path:
    return checkpoint.root / "snapline" / f"chk-{number}" / "_metadata"


def begin_replay(checkpoint: CheckpointBuilder, first: int, last: int) -> None:
    """As a recovery leaves the folder when it has hidden the logs: docs/notes/004-checkpoints.md."""
    replay = checkpoint.root / "snapline" / "replay"
    for log in ("offsets", "commits"):
        (replay / log).mkdir(parents=True)
        for batch in range(first, last + 1):
            (checkpoint.root / log / str(batch)).rename(replay / log / str(batch))
    journal = {"kind": "replay", "format": 1, "checkpoint": 1, "batch": first - 1, "committed": last, "planned": last}
    (replay / "journal").write_text(json.dumps(journal))
    (replay / "hidden").touch()


def rows(out: str) -> dict[str, list[str]]:
    """The table's lines by the number of the checkpoint."""
    lines = out.partition("Numbered checkpoints")[2].partition("\n\n")[0].splitlines()[3:]
    return {line.split()[0]: line.split() for line in lines if line.split()}


def test_list_shows_checkpoints_and_says_that_a_lag_is_normal(interval: CheckpointBuilder, run: Run) -> None:
    code, out, err = run("checkpoints", "list", interval.root)
    assert (code, err) == (0, "")
    assert list(rows(out)) == ["2", "1"]
    newest = rows(out)["2"]
    assert (newest[1], newest[2], newest[5:8], newest[-1]) == ("checkpoint", "4", ["1.5", "s", "6"], "complete")
    assert LAG in out
    assert "with an interval that is normal" in out
    assert "damaged" not in out


def test_list_as_json(interval: CheckpointBuilder, run: Run) -> None:
    found = json.loads(run("checkpoints", "list", "--json", interval.root).out)
    assert found["restart"] == {"checkpoint": 2, "batch": 4, "lag": 1, "changelogs": 0}
    assert found["replay"] is None
    first, second = found["checkpoints"]
    assert (first["id"], first["batch"], first["kind"], first["stores"]) == (1, 2, "checkpoint", 6)
    on_disk = sum(path.stat().st_size for path in (interval.root / "state").rglob("*.handle") if path.name[0] == "5")
    on_disk += sum(path.stat().st_size for path in (interval.root / "state").rglob("*.sst"))
    assert second["state_size"] == on_disk
    assert second["checkpointed_size"] < on_disk


def test_list_of_a_query_without_an_interval(tmp_path: Path, run: Run) -> None:
    checkpoint = build_sample(tmp_path / "c")
    write_checkpoint(checkpoint, 4, 4, properties="SAVEPOINT")
    out = run("checkpoints", "list", checkpoint.root).out
    assert rows(out)["4"][1] == "savepoint"
    assert "The query can go on from version 6" in out
    assert "replay" not in out
    checkpoint.close()


def test_list_shows_what_became_of_each(interval: CheckpointBuilder, run: Run) -> None:
    write_checkpoint(interval, 3, 4).rename(metadata(interval, 3).with_name("_metadata.damaged"))
    metadata(interval, 4).parent.mkdir()
    (metadata(interval, 4).parent / "other").touch()
    whole = write_checkpoint(interval, 5, 4).read_bytes()
    metadata(interval, 5).write_bytes(whole[:-40])
    write_checkpoint(interval, 6, 4)
    metadata(interval, 6).write_bytes(whole[:50] + b"?" + whole[51:])
    write_checkpoint(interval, 7, 4, offsets="v1\n{}\nanother")
    out = run("checkpoints", "list", interval.root).out
    status = {number: " ".join(row[-2:]) for number, row in rows(out).items()}
    assert status["3"] == "set aside"
    assert {status[number].split()[-1] for number in "45"} == {"incomplete"}
    assert {status[number].split()[-1] for number in "67"} == {"damaged"}
    assert "Checkpoint 7 is damaged" in out
    assert "is not the entry it was taken with" in out
    assert LAG in out


def test_a_checkpoint_that_the_logs_have_outlived_is_no_damage(tmp_path: Path, run: Run) -> None:
    checkpoint = build_sample(tmp_path / "c")
    write_checkpoint(checkpoint, 1, 2)
    for batch in range(3):
        for log in ("offsets", "commits"):
            (checkpoint.root / log / str(batch)).unlink()
    out = run("checkpoints", "list", checkpoint.root).out
    assert " ".join(rows(out)["1"][-3:]) == "out of reach"
    assert run("checkpoints", "verify", checkpoint.root).code == 0
    assert "cannot go back there" in run("checkpoints", "describe", checkpoint.root, "--checkpoint", "1").out
    # What it names is looked at all the same.
    checkpoint.stores[0].path(make_ref(3), Kind.HANDLE).unlink()
    damaged = run("checkpoints", "verify", checkpoint.root)
    assert damaged.code == 1
    assert "checkpoint 1" in (damaged.out + damaged.err).lower()
    checkpoint.close()


def test_list_without_a_checkpoint_begins_with_the_empty_state(interval: CheckpointBuilder, run: Run) -> None:
    for number in (1, 2):
        metadata(interval, number).unlink()
    assert (
        "A restart takes the empty state. 6 batches since then, rebuilt"
        in run("checkpoints", "list", interval.root).out
    )


def test_what_was_durable_before_there_was_an_interval_counts(tmp_path: Path, run: Run) -> None:
    checkpoint = build_sample(tmp_path / "c")
    write_checkpoint(checkpoint, 1, 2)
    (checkpoint.root / "snapline" / "interval").write_text("4")
    for store in checkpoint.stores:
        store.path(make_ref(6), Kind.CHANGELOG).unlink()
    out = run("checkpoints", "list", checkpoint.root).out
    assert "A restart takes batch 4, before there was an interval. 1 batch since then, rebuilt" in out
    assert run("checkpoints", "verify", checkpoint.root).code == 0
    for store in checkpoint.stores[:1]:
        store.path(make_ref(5), Kind.HANDLE).unlink()
        store.path(make_ref(5), Kind.CHANGELOG).unlink()
    ran = run("checkpoints", "verify", checkpoint.root)
    assert ran.code == 1
    assert "SNAPLINE-NOT-FOUND" in ran.out
    checkpoint.close()


def test_list_shows_a_replay(interval: CheckpointBuilder, run: Run) -> None:
    begin_replay(interval, 3, 5)
    out = run("checkpoints", "list", interval.root).out
    assert "A replay from checkpoint 1 has begun: batch 3 of 5 is next or under way, 0 of 3 done." in out
    assert "1 batch since checkpoint 2" in out


def test_describe_one(interval: CheckpointBuilder, run: Run) -> None:
    code, out, err = run("checkpoints", "describe", "--checkpoint", 2, interval.root)
    assert (code, err) == (0, "")
    assert "2, complete, CHECKPOINT_RETAINED_ON_CANCELLATION" in out
    assert 'offsets       {"offset":4}' in out
    stores = [line.split() for line in out.splitlines() if make_ref(5).uid in line]
    assert [row[:6] for row in stores][-1] == ["1", "symmetricHashJoin", "1", "right", "5", make_ref(5).uid]
    assert all(row[-4:] == ["3", "ms", "1.4", "s"] for row in stores)
    assert len(stores) == 6
    one = run("checkpoints", "describe", "--checkpoint=2", "--operator=0", "--partition=1", interval.root).out
    assert one.count(make_ref(5).uid) == 1


def test_describe_one_as_json(interval: CheckpointBuilder, run: Run) -> None:
    found = json.loads(run("checkpoints", "describe", "--checkpoint", 1, "--json", interval.root).out)
    assert (found["checkpoint"], found["batch"], found["status"], len(found["stores"])) == (1, 2, "complete", 6)
    assert found["stores"][0]["files"][0].keys() == {"uid", "length", "crc32c"}


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--checkpoint", "9"], 2, "no checkpoint 9"),
        (["--checkpoint", "2", "--operator", "7"], 2, "[SNAPLINE-NOT-FOUND]"),
        (["--checkpoint", "2", "--version", "5"], 2, "has its own version"),
        (["--checkpoint", "3"], 1, "[SNAPLINE-DAMAGED]"),
    ],
)
def test_describe_what_is_not_there(
    interval: CheckpointBuilder, run: Run, options: list[str], code: int, text: str
) -> None:
    write_checkpoint(interval, 3, 4).write_bytes(b"half")
    ran = run("checkpoints", "describe", interval.root, *options)
    assert ran.code == code
    assert text in ran.err
    assert "Traceback" not in ran.err


def test_verify_what_is_sound(interval: CheckpointBuilder, run: Run) -> None:
    ran = run("checkpoints", "verify", interval.root)
    assert (ran.code, ran.err) == (0, "")
    assert f"Everything is sound. {LAG}" in ran.out
    assert "left over" not in ran.out


def test_verify_finds_a_flipped_byte_in_any_file_of_the_newest(interval: CheckpointBuilder, run: Run) -> None:
    pick = random.Random(5)
    handles = sorted((interval.root / "state").rglob("5_*.handle"))
    older = {path for store in interval.stores for path in store_tables(interval, store.folder, 1)}
    tables = sorted(path for path in (interval.root / "state").rglob("*.sst") if path not in older)
    assert len(handles) == 6
    assert tables
    for path in [*handles[:3], *tables[:3], metadata(interval, 2)]:
        whole = path.read_bytes()
        hurt = bytearray(whole)
        # What is before the trailer: a file without an end was never written to it.
        hurt[pick.randrange(len(hurt) - 40)] ^= 1 << pick.randrange(8)
        path.write_bytes(hurt)
        ran = run("checkpoints", "verify", interval.root)
        assert ran.code == 1
        assert "SNAPLINE-DAMAGED" in ran.out
        assert rows(ran.out)["2"][-1] == "damaged"
        assert "Damaged. A restart takes checkpoint 1, the state after batch 2. 3 batches since checkpoint 1" in ran.out
        path.write_bytes(whole)


def store_tables(checkpoint: CheckpointBuilder, folder: Path, number: int) -> set[Path]:
    """Table files of a store that a checkpoint names."""
    meta = parse_checkpoint(metadata(checkpoint, number).read_bytes(), "it")
    uids = {file.uid for *_, handle in meta.handles() for file in handle.files}
    return {path for path in (folder / "sst").iterdir() if path.stem in uids}


def test_verify_finds_what_is_lost(interval: CheckpointBuilder, run: Run) -> None:
    handle = interval.stores[0].path(make_ref(5), Kind.HANDLE)
    whole = handle.read_bytes()
    handle.unlink()
    ran = run("checkpoints", "verify", interval.root)
    assert ran.code == 1
    assert "A restart takes checkpoint 1" in ran.out
    handle.write_bytes(whole)
    assert run("checkpoints", "verify", interval.root).code == 0


def test_verify_finds_a_handle_of_other_files_than_the_checkpoint_names(interval: CheckpointBuilder, run: Run) -> None:
    operators = checkpoint_meta(interval, 2, 4)["operators"]
    operators[0]["stores"][0]["partitions"][1]["files"].pop()
    write_checkpoint(interval, 2, 4, operators=operators)
    ran = run("checkpoints", "verify", interval.root)
    assert ran.code == 1
    assert "operator 0 partition 1 has a handle of version 5" in " ".join(ran.out.split())


def test_verify_with_no_sound_checkpoint_begins_with_the_empty_state(interval: CheckpointBuilder, run: Run) -> None:
    for handle in (interval.root / "state").rglob("*.handle"):
        handle.unlink()
    found = json.loads(run("checkpoints", "verify", "--json", interval.root).out)
    assert found["damaged"]
    assert found["restart"] == {"checkpoint": None, "batch": -1, "lag": 6, "changelogs": 0}
    assert {finding["code"] for finding in found["findings"]} == {"SNAPLINE-DAMAGED"}


def test_verify_does_not_mind_what_no_checkpoint_names(interval: CheckpointBuilder, run: Run) -> None:
    metadata(interval, 2).rename(metadata(interval, 2).with_name("_metadata.damaged"))
    interval.stores[0].path(make_ref(5), Kind.HANDLE).write_bytes(b"bad" * 40)
    interval.stores[1].path(make_ref(6), Kind.HANDLE).write_bytes(b"half")
    ran = run("checkpoints", "verify", interval.root)
    assert ran.code == 0
    assert ran.out.count("left over") == 2
    assert "Everything is sound. A restart takes checkpoint 1" in ran.out


def test_verify_of_a_query_before_its_first_checkpoint(interval: CheckpointBuilder, run: Run) -> None:
    for path in [*(interval.root / "state").rglob("*.*"), *(interval.root / "snapline").rglob("_metadata")]:
        if path.is_file():
            path.unlink()
    assert run("checkpoints", "verify", interval.root).code == 0


def test_verify_during_a_replay(interval: CheckpointBuilder, run: Run) -> None:
    begin_replay(interval, 3, 5)
    assert run("checkpoints", "verify", interval.root).code == 0
    # Batch 3 was replayed: its state is durable, for the next goes on from it.
    for log in ("offsets", "commits"):
        (interval.root / "snapline" / "replay" / log / "3").rename(interval.root / log / "3")
    assert run("checkpoints", "verify", interval.root).code == 1


def test_watch_once(interval: CheckpointBuilder, run: Run) -> None:
    begin_replay(interval, 3, 5)
    code, out, err = run("checkpoints", "watch", "--once", "--newest", 1, interval.root)
    assert (code, err) == (0, "")
    assert "batch 5 planned, 5 done, 1 since checkpoint 2" in out
    assert "batch 3 of 5 is next or under way" in out
    assert list(rows(out)) == ["2"]


def test_watch_prints_a_block_whenever_something_has_changed(
    interval: CheckpointBuilder, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(["nothing", "a batch", "nothing", "a checkpoint", "the end"])

    def sleep(seconds: float) -> None:
        assert seconds == 0.5
        match next(looks):
            case "a batch":
                interval.finish_batch(6)
            case "a checkpoint":
                write_checkpoint(interval, 3, 4)
            case "the end":
                raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    code, out, _ = run("checkpoints", "watch", "--interval", 0.5, interval.root)
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("batch ")] == [
        "batch 5 planned, 5 done, 1 since checkpoint 2",
        "batch 6 planned, 6 done, 2 since checkpoint 2",
        "batch 6 planned, 6 done, 2 since checkpoint 3",
    ]


def test_watch_what_is_no_checkpoint(tmp_path: Path, run: Run) -> None:
    ran = run("checkpoints", "watch", "--once", tmp_path / "absent")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("[SNAPLINE-NOT-A-CHECKPOINT]")
