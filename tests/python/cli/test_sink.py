from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from snapline.cli import main
from snapline.folder.journal import Journal

QUERY = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Batch 4 is committed, and 5 planned."""
    folder = tmp_path / "checkpoint"
    for log, newest in (("offsets", 5), ("commits", 4)):
        (folder / log).mkdir(parents=True)
        (folder / log / str(newest)).write_text("v1\n{}")
    (folder / "metadata").write_text(json.dumps({"id": QUERY}))
    return folder


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "sink.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "create table snapline_markers (sink varchar(255), part int, batch int, parts int, row_count int, "
            "digest varchar(16))"
        )
        rows = [
            (f"{QUERY}/whole", 0, 4, 2, 10, "00000000000000ff"),
            (f"{QUERY}/whole", 1, 3, 2, 5, "ffffffffffffffff"),
            (f"{QUERY}/torn", 0, 5, 8, 7, "0" * 16),
            (f"{QUERY}/ahead", 0, 6, 1, 1, "0" * 16),
            ("another/whole", 0, 9, 1, 1, "0" * 16),
        ]
        db.executemany("insert into snapline_markers values (?, ?, ?, ?, ?, ?)", rows)
    return f"jdbc:sqlite:{path}"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_a_recovery_that_was_cut_short_hides_no_batch(
    checkpoint: Path, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = checkpoint / "snapline/replay"
    hidden.mkdir(parents=True)
    (hidden / "journal").write_bytes(Journal(checkpoint=1, batch=2, committed=6, planned=7).to_bytes())
    assert run("sink", "describe", str(checkpoint), "--database", database) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Query {QUERY}: batch 7 is planned, batch 6 is committed"
    assert "refused" not in "".join(lines)


def test_a_restore_that_was_cut_short_has_no_sinks(
    checkpoint: Path, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkpoint / "metadata").write_text(json.dumps({"restoring": QUERY}))
    assert run("sink", "describe", str(checkpoint), "--database", database) == 1
    assert "SNAPLINE-DAMAGED" in capsys.readouterr().err


def test_it_says_how_each_sink_stands(checkpoint: Path, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sink", "describe", str(checkpoint), "--database", database) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Query {QUERY}: batch 5 is planned, batch 4 is committed"
    shown = {line.split()[0]: " ".join(line.split()[1:]) for line in lines[4:] if line.strip()}
    assert shown == {
        "ahead": "6 1 1 1 ahead of the checkpoint: a start is refused",
        "torn": "5 1 8 7 whole or in part: a start writes the rest",
        "whole": "4 1 2 10 whole",
    }


def test_as_json_it_has_every_marker(checkpoint: Path, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sink", "describe", str(checkpoint), "--database", database, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["query"], found["planned"], found["committed"]) == (QUERY, 5, 4)
    whole = next(sink for sink in found["sinks"] if sink["name"] == "whole")
    assert whole["markers"]["1"] == {"batch": 3, "partitions": 2, "rows": 5, "digest": -1}


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), "SNAPLINE-CONFIG"),
        (("--kafka", "x:1", "--database", "sqlite:x"), "SNAPLINE-CONFIG"),
        (("--database", "mysql://x"), "SNAPLINE-CONFIG"),
        (("--database", "sqlite:/nowhere/x"), "SNAPLINE-STORAGE"),
        (("--database", "sqlite:x", "--table", "a;b"), "SNAPLINE-CONFIG"),
    ],
)
def test_bad_input_has_a_code(
    checkpoint: Path, arguments: tuple[str, ...], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("sink", "describe", str(checkpoint), *arguments) == 2
    assert found in capsys.readouterr().err


def test_a_folder_without_a_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sink", "describe", str(tmp_path), "--kafka", "x:1") == 2
    assert "SNAPLINE-NOT-A-CHECKPOINT" in capsys.readouterr().err
