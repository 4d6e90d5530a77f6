"""Between a kill and the next start files are cut short, missing or left over.

An older checkpoint is used, or a coded error says that none will do.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from snapline.query.metadata import CheckpointMetadata, parse_checkpoint

from .check import check_output
from .expected import expect, make_input, read_input
from .life import Life, Plans

QUERIES = ["chains", "totals"]
FILES = 14
RETAINED = 3


class Checkpoints:
    """The checkpoint folder of one query that was killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def metadata_files(self) -> list[Path]:
        """Of the completed checkpoints, the newest first."""
        found = self.folder.glob("snapline/chk-*/_metadata")
        return sorted(found, key=lambda path: int(path.parent.name.partition("-")[2]), reverse=True)

    def newest(self) -> CheckpointMetadata:
        path = self.metadata_files()[0]
        return parse_checkpoint(path.read_bytes(), str(path))

    def handle(self) -> Path:
        """One of the newest checkpoint."""
        return self.folder / next(iter(self.newest().handle_names()))

    def table(self) -> Path:
        """A table file that only the newest checkpoint names."""
        named = [tables(parse_checkpoint(path.read_bytes(), str(path))) for path in self.metadata_files()]
        return self.folder / min(named[0].difference(*named[1:]))

    def next_batch(self, log: str) -> int:
        return max(int(path.name) for path in (self.folder / log).glob("[0-9]*")) + 1


def tables(checkpoint: CheckpointMetadata) -> set[str]:
    return {
        f"state/{operator.id}/{part.partition}/{'' if store.name == 'default' else store.name + '/'}sst/{file.uid}.sst"
        for operator in checkpoint.operators
        for store in operator.stores
        for part in store.partitions
        for file in part.files
    }


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def all_metadata_cut(there: Checkpoints) -> None:
    for path in there.metadata_files():
        cut(path)


def leftovers(there: Checkpoints) -> None:
    """What a crash leaves of files that were about to appear."""
    replay = there.folder / "snapline" / "replay"
    replay.mkdir(exist_ok=True)
    (replay / ".journal.0c0ffee0-0000-4000-8000-000000000000.tmp").write_text('{"kind": "rep')
    (replay / ".journal.crc").write_bytes(b"crc\0")
    for log in ("offsets", "commits"):
        (there.folder / log / f".{there.next_batch(log)}.crc").write_bytes(b"crc\0\0\0\2\0")
        (there.folder / log / f".{there.next_batch(log)}.0c0ffee0.tmp").write_text("v1\n{")
    begun = there.folder / "snapline" / "chk-99"
    begun.mkdir()
    (begun / "._metadata.0c0ffee0.tmp").write_bytes(there.metadata_files()[0].read_bytes()[:99])
    cut(Path(shutil.copy(there.handle(), there.handle().with_name(f"{there.handle().name}.tmp"))))


USES_OLDER: dict[str, Callable[[Checkpoints], object]] = {
    "metadata_cut": lambda there: cut(there.metadata_files()[0]),
    "metadata_empty": lambda there: there.metadata_files()[0].write_bytes(b""),
    "handle_cut": lambda there: cut(there.handle()),
    "handle_missing": lambda there: there.handle().unlink(),
    "table_cut": lambda there: cut(there.table()),
    "table_missing": lambda there: there.table().unlink(),
}
CASES = {**USES_OLDER, "leftovers": leftovers, "all_metadata_cut": all_metadata_cut}


@dataclass(frozen=True)
class Lived:
    base: Path
    plans: dict[str, Plans]

    def check(self, case: str) -> None:
        check_output(self.base / case, expect(read_input(self.base / "input"), self.plans[case].whole()))


@pytest.fixture(scope="module", params=["1", "2"])
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """A folder for each case, gone on with after the damage. All cases share two lives: starting Spark takes long."""
    base = tmp_path_factory.mktemp("damage")
    make_input(base / "input", FILES)
    arguments = ["--input", str(base / "input"), "--local", str(base / "local"), "--format", request.param]
    arguments += ["--retained", str(RETAINED), "--interval", "0.5", "--queries", *QUERIES, "--tables", *QUERIES]
    killed = base / "killed"
    killed.mkdir()
    before = Plans(killed / "checkpoints")
    life = Life([str(killed), *arguments], base / "killed.log", before)
    assert life.wait_for("batch chains 7"), life.log
    assert life.wait_for("batch totals 7"), life.log
    life.kill()
    for case, damage in CASES.items():
        shutil.copytree(killed, base / case)
        for query in QUERIES:
            there = Checkpoints(base / case / "checkpoints" / query)
            assert len(there.metadata_files()) >= 2
            damage(there)
    plans = {case: Plans(base / case / "checkpoints", before) for case in CASES}
    Life([*(str(base / case) for case in CASES), *arguments], base / "lived.log", *plans.values()).end()
    return Lived(base, plans)


def log_of(lived: Lived, case: str) -> str:
    return (
        (lived.base / "lived.log").read_text(errors="replace").partition(f"\nwork {case}\n")[2].partition("\nwork ")[0]
    )


@pytest.mark.parametrize("case", USES_OLDER)
def test_an_older_checkpoint_is_used(lived: Lived, case: str) -> None:
    log = log_of(lived, case)
    assert f"failed {case}" not in log, log[-3000:]
    for query in QUERIES:
        assert f"/{case}/checkpoints/{query} is set aside" in log
    lived.check(case)


def test_what_a_crash_leaves_over_is_no_harm(lived: Lived) -> None:
    log = log_of(lived, "leftovers")
    assert "failed leftovers" not in log, log[-3000:]
    assert "set aside" not in log
    lived.check("leftovers")


def test_without_a_sound_checkpoint_a_coded_error_says_so(lived: Lived) -> None:
    log = log_of(lived, "all_metadata_cut")
    failure = next(line for line in log.splitlines() if line.startswith("failed all_metadata_cut"))
    assert "CheckpointDamaged: [SNAPLINE-DAMAGED]" in failure
