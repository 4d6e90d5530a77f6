"""Puts the files of a snapshot into a folder in which its backend's reader opens them (docs/FORMAT.md, section 4)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import google_crc32c

from snapline.format import HandleMeta, HandleReader, TableFile
from snapline.format.frame import damaged
from snapline.inspect.files import StoredSource
from snapline.inspect.store import Store

_CHUNK = 1 << 20


def materialise(store: Store, handle: HandleMeta, target: Path) -> None:
    """Checks every byte on the way. Table files that lie on this machine are linked, not copied.

    Raises:
        CheckpointDamaged: a file fails its check.
        StateNotFound: a table file is missing.
        StorageFailure: the file system refused.
    """
    with store.open_handle(handle.ref) as source:
        local = HandleReader(source, handle.ref).read_local_files()
    for name, data in local.items():
        (target / name).write_bytes(data)
    for table in handle.files:
        name = f"{store.files.folder}/{table.stored_name}"
        there = store.folder.local_path(name)
        with store.folder.open(name) as source:
            if there is None:
                check_table(source, table, target / table.name)
            else:
                check_table(source, table)
                (target / table.name).symlink_to(there)


def check_table(source: StoredSource, table: TableFile, copy_to: Path | None = None) -> None:
    """Reads a whole table file, and copies it if asked to.

    Raises:
        CheckpointDamaged: length or checksum are not those the handle names.
    """
    if source.size != table.length:
        raise damaged(source.path, f"it has {source.size} bytes, and its handle names {table.length}")
    crc = 0
    with copy_to.open("wb") if copy_to else nullcontext() as copy:
        for offset in range(0, table.length, _CHUNK):
            data = source.read_at(offset, min(_CHUNK, table.length - offset))
            crc = google_crc32c.extend(crc, data)
            if copy is not None:
                copy.write(data)
    if crc != table.crc32c:
        raise damaged(source.path, "its checksum is not the one its handle names")
