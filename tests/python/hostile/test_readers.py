"""Every reader of our files against files that somebody made up, checksums and all.

A reader takes one or refuses it with an error of its own; it is done at once, takes no memory to speak of, and whatever
it names lies in the checkpoint's folder.
"""

from __future__ import annotations

import json
import os
import random
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from snapline.errors import SnaplineError
from snapline.folder.journal import parse_journal
from snapline.folder.logs import parse_entry
from snapline.folder.metadata import parse_checkpoint
from snapline.folder.restored import parse_restored
from snapline.format import ChangelogReader, Entry, Family, HandleReader, Kind, Operation, TableFile
from snapline.format.frame import FrameReader
from snapline.format.merged import MergedReader
from snapline.format.source import BytesSource
from snapline.savepoint.metadata import parse_savepoint

from ..folder.fakes import FakeFiles, FakeSpark
from ..folder.test_metadata import make_meta
from ..format.writer import as_json, make_ref, make_uid, write_changelog, write_frame, write_handle, write_merged
from ..savepoint.test_metadata import sample as savepoint_sample
from .mutator import mutated

MUTANTS = 1500
SEED = int(os.environ.get("SNAPLINE_SEED") or random.randrange(10**6))
SECONDS, BYTES = 1.0, 64 << 20
"""For one of them."""

REF = make_ref(3)
FAMILIES = [Family(0, "default", 10, True, False, False), Family(4, "timers", 2, False, True, True)]
TABLE = TableFile("000008.sst", make_uid(8), 1234, 5)
HANDLE = write_handle(REF, [TABLE], {"CURRENT": b"M\n", "OPTIONS-7": b""}, FAMILIES)
ENTRIES = [Entry(0, Operation.PUT, b"key", b"value"), Entry(4, Operation.DELETE, b"key", b"")]

Reader = Callable[[bytes], Iterable[str]]
"""Reads all there is; the names it gives for files."""


def read_checkpoint(data: bytes) -> Iterator[str]:
    checkpoint = parse_checkpoint(data, "it")
    yield from checkpoint.handle_names()
    _ = checkpoint.state_size, checkpoint.checkpointed_size


def read_savepoint(data: bytes) -> Iterator[str]:
    savepoint = parse_savepoint(data, "it")
    _ = savepoint.offset_entry.offsets, savepoint.parallelism, savepoint.size
    yield from [file.name for file in savepoint.files]


def read_handle(data: bytes) -> Iterator[str]:
    reader = HandleReader(BytesSource(data))
    yield from reader.read_local_files()
    yield from [name for file in reader.meta.files for name in (file.name, file.stored_name)]


def read_changelog(data: bytes) -> Iterator[str]:
    reader = ChangelogReader(BytesSource(data))
    reader.check_blocks()
    list(reader.read_entries())
    yield from []


def read_merged(data: bytes) -> Iterator[str]:
    for member, _ in MergedReader(BytesSource(data)).read_members():
        yield f"{member.store}/{member.ref.file_name(Kind.HANDLE)}"


def framed(kind: Kind, whole: bytes) -> tuple[Any, Callable[[Any], bytes]]:
    """The meta of a file, and how it becomes a file again."""
    frame = FrameReader(BytesSource(whole), kind)
    blocks = list(frame.read_blocks())
    return json.loads(frame.meta), lambda meta: write_frame(kind, blocks, as_json(meta), compress=frame.codec == 1)


def read_journal(data: bytes) -> Iterator[str]:
    _ = parse_journal(data, "it").hidden
    yield from []


def read_entry(data: bytes) -> Iterator[str]:
    entry = parse_entry(3, data, "it")
    _ = entry.offsets, entry.watermark_ms, entry.state_ids
    yield from []


def read_restored(data: bytes) -> Iterator[str]:
    _ = parse_restored(data, "it").waiting
    yield from []


def log_entry(meta: Any) -> bytes:
    return b"\n".join([b"v1", *(as_json(line) for line in meta)])


CHECKPOINT = write_frame(Kind.CHECKPOINT, [], as_json(make_meta(4, 3, FakeSpark(FakeFiles(), 1))), compress=False)
JOURNAL = {"kind": "replay", "format": 1, "checkpoint": 1, "batch": 2, "committed": 4, "planned": 5}
RESTORED = {"savepoint": "5d", "from": "file:/savepoints/1", "waiting": 7, "operators": [0, 2]}
LOG = [{"batchWatermarkMs": 5, "stateUniqueIds": {"0": [["a"]]}, "conf": {"x": "y"}}, {"logOffset": 3}]

READERS: dict[str, tuple[Any, Callable[[Any], bytes], Reader]] = {
    "checkpoint": (*framed(Kind.CHECKPOINT, CHECKPOINT), read_checkpoint),
    "savepoint": (*framed(Kind.SAVEPOINT, savepoint_sample().to_bytes()), read_savepoint),
    "handle": (*framed(Kind.HANDLE, HANDLE), read_handle),
    "changelog": (*framed(Kind.CHANGELOG, write_changelog(REF, None, [ENTRIES], FAMILIES)), read_changelog),
    "merged": (*framed(Kind.MERGED, write_merged(REF, [("state/0/1", REF, HANDLE)])), read_merged),
    "journal": (JOURNAL, as_json, read_journal),
    "log": (LOG, log_entry, read_entry),
    "restored": (RESTORED, as_json, read_restored),
}


@pytest.mark.parametrize("kind", READERS)
def test_mutants(kind: str) -> None:
    known, write, read = READERS[kind]
    chance = random.Random(SEED)
    list(read(write(known)))
    refused = 0
    for number in range(MUTANTS):
        data = write(mutated(known, chance))
        tracemalloc.start()
        began = time.process_time()
        try:
            names = list(read(data))
        except SnaplineError:
            refused += 1
            names = []
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        seconds = time.process_time() - began
        assert all(stays_inside(name) for name in names), (SEED, number, names)
        assert seconds < SECONDS, (SEED, number, seconds, data[:2000])
        assert peak < BYTES, (SEED, number, peak, data[:2000])
    # Some pass, such as another text in a member that is only shown; most are no such file.
    assert refused > MUTANTS / 10


@pytest.mark.parametrize("kind", READERS)
def test_bytes_of_anything(kind: str) -> None:
    _, _, read = READERS[kind]
    chance = random.Random(SEED)
    for number in range(MUTANTS):
        data = chance.randbytes(chance.choice((0, 1, 20, 60, 200)))
        try:
            list(read(data))
        except SnaplineError:
            continue
        pytest.fail(f"seed {SEED}, number {number}: {data!r} was read")


def stays_inside(name: str) -> bool:
    parts = name.split("/")
    return not name.startswith("/") and "\0" not in name and all(part not in ("", ".", "..") for part in parts)
