"""Harm to a checkpoint folder between a kill and the next start, at each step of the protocol (docs/notes/004)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from snapline.errors import CheckpointDamaged
from snapline.folder.interval_mark import INTERVAL_MARK
from snapline.folder.journal import Journal
from snapline.folder.metadata import CheckpointMetadata, parse_checkpoint

UID = "0190c0ff-ee00-7000-8000-000000000000"


class Checkpoints:
    """The checkpoint folder of one query that was killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fits(self, checkpoints: int, above: int, lag: int) -> bool:
        """Whether there are so many checkpoints, the newest with a number above, and so many batches after it."""
        found = self.complete()
        if len(found) < checkpoints or found[0].id <= above:
            return False
        return self.newest("commits") >= found[0].batch + lag

    def complete(self) -> list[CheckpointMetadata]:
        """The newest first. While the query runs, one may be written or removed right now."""
        found = []
        for path in self.metadata_files():
            with suppress(FileNotFoundError, CheckpointDamaged):
                found.append(parse_checkpoint(path.read_bytes(), str(path)))
        return found

    def metadata_files(self) -> list[Path]:
        """Of the completed checkpoints, the newest first."""
        found = self.folder.glob("snapline/chk-*/_metadata")
        return sorted(found, key=lambda path: int(path.parent.name.partition("-")[2]), reverse=True)

    def read(self, place: int) -> CheckpointMetadata:
        """0 is the newest."""
        path = self.metadata_files()[place]
        return parse_checkpoint(path.read_bytes(), str(path))

    def handle(self, place: int = 0) -> Path:
        """One of a checkpoint."""
        return self.folder / next(iter(self.read(place).handle_names()))

    def tables(self, place: int = 0) -> list[Path]:
        """Table files that only this checkpoint names."""
        named = [tables(self.read(each)) for each in range(len(self.metadata_files()))]
        return [self.folder / name for name in sorted(named.pop(place).difference(*named))]

    def entry(self, log: str, batch: int) -> Path:
        return self.folder / log / str(batch)

    def newest(self, log: str) -> int:
        return max(int(path.name) for path in (self.folder / log).glob("[0-9]*"))

    def begin_replay(self, hidden: int) -> None:
        """As far as the journal, with so many of the newest batches hidden."""
        newest = self.read(0)
        committed, planned = self.newest("commits"), self.newest("offsets")
        replay = self.folder / "snapline" / "replay"
        for log in ("offsets", "commits"):
            (replay / log).mkdir(parents=True)
        (replay / "journal").write_bytes(Journal(newest.id, newest.batch, committed, planned).to_bytes())
        for batch in range(planned - hidden + 1, planned + 1):
            for log in ("offsets", "commits"):
                if self.entry(log, batch).exists():
                    move(self.entry(log, batch), replay / log)


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
    checksum(path).unlink(missing_ok=True)


def move(path: Path, folder: Path) -> None:
    path.rename(folder / path.name)
    if checksum(path).exists():
        checksum(path).rename(folder / checksum(path).name)


def checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def remove(path: Path) -> None:
    path.unlink()
    checksum(path).unlink(missing_ok=True)


# ---- table files -> handle -> _metadata


def half_uploaded(there: Checkpoints) -> None:
    """Table files and a handle that no checkpoint names yet, and what was about to become one."""
    table = there.tables()[0]
    cut(Path(shutil.copy(table, table.with_name(f"{UID}.sst"))))
    cut(Path(shutil.copy(table, table.with_name(f"{UID}.sst.tmp"))))
    handle = there.handle()
    version = int(handle.name.partition("_")[0])
    cut(Path(shutil.copy(handle, handle.with_name(f"{version + 1000}_{UID}.handle"))))
    cut(Path(shutil.copy(handle, handle.with_name(f"{handle.name}.tmp"))))
    begun = there.folder / "snapline" / "chk-99"
    begun.mkdir()
    (begun / "._metadata.0c0ffee0.tmp").write_bytes(there.metadata_files()[0].read_bytes()[:99])


def all_metadata_cut(there: Checkpoints) -> None:
    """And the logs do not reach back to the first batch, so that there is nothing to begin a replay with."""
    for path in there.metadata_files():
        cut(path)
    for log in ("offsets", "commits"):
        if there.entry(log, 0).exists():
            remove(there.entry(log, 0))


# ---- _metadata -> its handles -> its table files -> the logs below, when a checkpoint is subsumed


def half_subsumed(there: Checkpoints) -> None:
    """The oldest: its metadata is gone, one of the handles, and one of the tables that it does not share, if any."""
    gone = [there.metadata_files()[-1], there.handle(-1), *there.tables(-1)[:1]]
    for path in gone:
        remove(path)


def half_purged(there: Checkpoints) -> None:
    """Of the logs, below the newest checkpoint: entries of one are gone, and those of the other are not."""
    for path in there.metadata_files()[1:]:
        remove(path)
    for batch in range(there.read(0).batch):
        if there.entry("offsets", batch).exists():
            remove(there.entry("offsets", batch))


# ---- journal -> logs hidden -> hidden -> batches -> journal removed -> the rest removed


def leftovers(there: Checkpoints) -> None:
    """Of files that were about to appear in the logs and the journal."""
    replay = there.folder / "snapline" / "replay"
    replay.mkdir(exist_ok=True)
    (replay / f".journal.{UID}.tmp").write_text('{"kind": "rep')
    (replay / ".journal.crc").write_bytes(b"crc\0")
    for log in ("offsets", "commits"):
        entry = there.entry(log, there.newest(log) + 1)
        checksum(entry).write_bytes(b"crc\0\0\0\2\0")
        entry.with_name(f".{entry.name}.0c0ffee0.tmp").write_text("v1\n{")


def replay_begun(there: Checkpoints) -> None:
    there.begin_replay(hidden=0)


def half_hidden(there: Checkpoints) -> None:
    """The newest batch is hidden whole, the one before it by half, and a rename has left both ends."""
    there.begin_replay(hidden=1)
    replay, batch = there.folder / "snapline" / "replay", there.newest("offsets")
    shutil.copy(there.entry("commits", batch), replay / "commits")


def half_swept(there: Checkpoints) -> None:
    """A replay is over: its journal is gone, and its copies of commits are not."""
    replay = there.folder / "snapline" / "replay"
    (replay / "commits").mkdir(parents=True)
    shutil.copy(there.entry("commits", there.newest("commits")), replay / "commits")
    (replay / "hidden").write_bytes(b"")


def journal_cut(there: Checkpoints) -> None:
    there.begin_replay(hidden=2)
    cut(there.folder / "snapline" / "replay" / "journal")


def hidden_lost(there: Checkpoints) -> None:
    there.begin_replay(hidden=2)
    remove(there.folder / "snapline" / "replay" / "offsets" / str(there.newest("offsets") + 1))


def after_newest(there: Checkpoints, log: str) -> Path:
    return there.entry(log, there.read(0).batch + 1)


Damage = Callable[[Checkpoints], object]

USES_OLDER: Mapping[str, Damage] = {
    "metadata_cut": lambda there: cut(there.metadata_files()[0]),
    "metadata_empty": lambda there: there.metadata_files()[0].write_bytes(b""),
    "handle_cut": lambda there: cut(there.handle()),
    "handle_missing": lambda there: remove(there.handle()),
    "table_cut": lambda there: cut(there.tables()[0]),
    "table_missing": lambda there: remove(there.tables()[0]),
}
"""The newest checkpoint is set aside, and the one before it taken."""

NO_HARM: Mapping[str, Damage] = {
    "half_uploaded": half_uploaded,
    "metadata_missing": lambda there: remove(there.metadata_files()[0]),
    "half_subsumed": half_subsumed,
    "half_purged": half_purged,
    "mark_empty": lambda there: (there.folder / INTERVAL_MARK).write_bytes(b""),
    "leftovers": leftovers,
    "replay_begun": replay_begun,
    "half_hidden": half_hidden,
    "half_swept": half_swept,
}
"""Nothing is set aside: a crash leaves such files, or they were not needed."""

REFUSED: Mapping[str, Damage] = {
    "all_metadata_cut": all_metadata_cut,
    "commit_missing": lambda there: remove(after_newest(there, "commits")),
    "commit_cut": lambda there: cut(after_newest(there, "commits")),
    "offsets_missing": lambda there: remove(after_newest(there, "offsets")),
    "offsets_cut": lambda there: cut(after_newest(there, "offsets")),
    "journal_cut": journal_cut,
    "hidden_lost": hidden_lost,
}
"""No checkpoint will do: an error with a code says so, and no batch is run."""

FAILS: Mapping[str, Damage] = {"mark_missing": lambda there: remove(there.folder / INTERVAL_MARK)}
"""It looks like a query all of whose batches are durable: the store that does not find its state says so."""
