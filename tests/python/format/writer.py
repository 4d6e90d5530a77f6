"""Writes files of a store as docs/FORMAT.md says, for tests. Written from the page, not from the reader."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import google_crc32c
import pyarrow

from snapline.format import Entry, Family, Kind, TableFile, VersionRef

CREATED = 1_770_000_000_000
RUN = "5f1c1f0e-5c0c-4a57-9a27-0d8d3b1f9c11"


def crc(data: bytes) -> int:
    return int(google_crc32c.value(data))


def make_uid(millis: int) -> str:
    """A UUID of version 7 with this time and nothing random."""
    text = f"{millis:012x}"
    return f"{text[:8]}-{text[8:]}-7000-8000-{millis % (1 << 48):012x}"


def make_ref(version: int, attempt: int = 0) -> VersionRef:
    return VersionRef(version, make_uid(CREATED + version * 1000 + attempt))


def write_frame(kind: Kind, blocks: Sequence[bytes], meta: bytes, *, compress: bool = True, number: int = 1) -> bytes:
    out = bytearray(kind.magic + struct.pack("<HBB", number, int(compress), 0))
    out += struct.pack("<I", crc(bytes(out)))
    for raw in blocks:
        out += write_block(raw, compress=compress)
    offset = len(out)
    trailer = struct.pack("<QIII", offset, len(meta), crc(meta), len(blocks))
    return bytes(out + meta + trailer + struct.pack("<I", crc(trailer)) + b"SNAPLEND")


def write_block(raw: bytes, *, compress: bool = True) -> bytes:
    stored = raw
    if compress and raw:
        packed = pyarrow.Codec("lz4_raw").compress(raw, asbytes=True)
        if len(packed) < len(raw):
            stored = packed
    return write_stored_block(stored, len(raw))


def write_stored_block(stored: bytes, raw_length: int) -> bytes:
    lengths = struct.pack("<II", len(stored), raw_length)
    return lengths + struct.pack("<I", crc(lengths + stored)) + stored


def write_entries(entries: Sequence[Entry]) -> bytes:
    return b"".join(
        write_uvarint(entry.family << 3 | entry.operation)
        + write_uvarint(len(entry.key))
        + write_uvarint(len(entry.value))
        + entry.key
        + entry.value
        for entry in entries
    )


def write_uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def as_json(meta: dict[str, Any]) -> bytes:
    return json.dumps(meta, separators=(",", ":")).encode()


def write_changelog(
    ref: VersionRef,
    parent: VersionRef | None,
    blocks: Sequence[Sequence[Entry]],
    families: Sequence[Family],
    *,
    snapshot: VersionRef | None = None,
    distance: int = 1,
    compress: bool = True,
    **more: Any,
) -> bytes:
    """A whole changelog file; ``more`` goes into the meta."""
    raw = [write_entries(entries) for entries in blocks]
    meta = common("changelog", ref, families) | {
        "parent": parent and parent._asdict(),
        "snapshot": snapshot and snapshot._asdict(),
        "entries": sum(len(entries) for entries in blocks),
        "rawBytes": sum(len(block) for block in raw),
        "snapshotDistance": distance,
        "changelogBytes": sum(len(block) for block in raw),
    }
    return write_frame(Kind.CHANGELOG, raw, as_json(meta | more), compress=compress)


def write_handle(
    ref: VersionRef,
    files: Sequence[TableFile],
    local: dict[str, bytes],
    families: Sequence[Family],
    *,
    uploaded: Sequence[TableFile] = (),
    **more: Any,
) -> bytes:
    """A whole handle file; ``more`` goes into the meta."""
    meta = common("handle", ref, families) | {
        "backend": "rocksdb",
        "files": [{"name": f.name, "uid": f.uid, "length": f.length, "crc32c": f.crc32c} for f in files],
        "local": [{"name": name, "length": len(data)} for name, data in local.items()],
        "stateBytes": sum(f.length for f in files),
        "uploaded": {"files": len(uploaded), "bytes": sum(f.length for f in uploaded)},
    }
    return write_frame(Kind.HANDLE, list(local.values()), as_json(meta | more))


def common(kind: str, ref: VersionRef, families: Sequence[Family]) -> dict[str, Any]:
    return {
        "kind": kind,
        "version": ref.version,
        "uid": ref.uid,
        "families": [
            {
                "id": f.id,
                "name": f.name,
                "keys": f.keys,
                "keyGroups": f.key_groups,
                "multi": f.multi,
                "internal": f.internal,
            }
            for f in families
        ],
        "writer": "0.1.0",
        "created": CREATED,
        "run": RUN,
        "properties": {"encoding": "unsaferow", "maxParallelism": "57600", "rowChecksum": "false"},
    }


def write_merged(ref: VersionRef, members: Sequence[tuple[str, VersionRef, bytes]]) -> bytes:
    """A whole merged file: handles, and the folders of their stores."""
    index, offset = [], 16
    for store, handle, data in members:
        index.append({"store": store, "uid": handle.uid, "offset": offset + 12, "length": len(data)})
        offset += 12 + len(data)
    meta = {"kind": "merged", "version": ref.version, "uid": ref.uid, "writer": "0.1.0", "created": CREATED}
    blocks = [data for _, _, data in members]
    return write_frame(Kind.MERGED, blocks, as_json(meta | {"members": index}), compress=False)
