"""Writes numbered checkpoints of built stores: docs/FORMAT.md, section 9."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from snapline.format import HandleReader, Kind, MergedReader
from snapline.format.names import merged_name
from snapline.format.source import BytesSource

from ..format.writer import RUN, make_ref, write_frame, write_merged
from .builder import CheckpointBuilder, put

NAMES = {0: "stateStoreSave", 1: "symmetricHashJoin"}


def checkpoint_meta(checkpoint: CheckpointBuilder, number: int, batch: int, **changes: Any) -> dict[str, Any]:
    """Of the snapshots that the stores have of the version after this batch."""
    operators: dict[int, dict[str, list[dict[str, Any]]]] = {}
    for store in checkpoint.stores:
        parts = store.folder.relative_to(checkpoint.root / "state").parts
        name = parts[2] if len(parts) > 2 else "default"
        handle = store.path(make_ref(batch + 1), Kind.HANDLE)
        meta = HandleReader(BytesSource(handle.read_bytes())).meta
        operators.setdefault(int(parts[0]), {}).setdefault(name, []).append(
            {
                "partition": int(parts[1]),
                "version": batch + 1,
                "uid": meta.ref.uid,
                "bytes": meta.state_bytes + handle.stat().st_size,
                "handleBytes": handle.stat().st_size,
                "sync": 3,
                "async": 1400,
                "uploaded": {"files": meta.uploaded_files, "bytes": meta.uploaded_bytes},
                "files": [{"uid": file.uid, "length": file.length, "crc32c": file.crc32c} for file in meta.files],
            }
        )
    return {
        "kind": "checkpoint",
        "checkpoint": number,
        "query": RUN,
        "run": RUN,
        "batch": batch,
        "properties": "CHECKPOINT_RETAINED_ON_CANCELLATION",
        "triggered": 1_770_000_000_000,
        "acknowledged": 1_770_000_001_500,
        "completed": 1_770_000_001_600,
        "operators": [
            {
                "id": operator,
                "name": NAMES[operator],
                "parallelism": 2,
                "stores": [{"name": name, "partitions": handles} for name, handles in stores.items()],
            }
            for operator, stores in operators.items()
        ],
        "offsets": (checkpoint.root / "offsets" / str(batch)).read_text(),
        "commit": (checkpoint.root / "commits" / str(batch)).read_text(),
        "watermark": 0,
        "maxParallelism": 57_600,
        "writer": "0.1.0",
        "spark": "4.2.0",
    } | changes


def write_checkpoint(checkpoint: CheckpointBuilder, number: int, batch: int, **changes: Any) -> Path:
    """Its ``_metadata``."""
    path = checkpoint.root / "snapline" / f"chk-{number}" / "_metadata"
    path.parent.mkdir(parents=True, exist_ok=True)
    meta = checkpoint_meta(checkpoint, number, batch, **changes)
    path.write_bytes(write_frame(Kind.CHECKPOINT, [], json.dumps(meta).encode()))
    return path


def merge_handles(checkpoint: CheckpointBuilder, number: int, batch: int) -> Path:
    """Makes the handles of a checkpoint members of one merged file, and its ``_metadata`` say so. The merged file."""
    metadata = checkpoint.root / "snapline" / f"chk-{number}" / "_metadata"
    ref = make_ref(batch + 1, 9)
    members = []
    for store in checkpoint.stores:
        handle = store.path(make_ref(batch + 1), Kind.HANDLE)
        members.append((str(store.folder.relative_to(checkpoint.root)), make_ref(batch + 1), handle.read_bytes()))
    data = write_merged(ref, members)
    places = {member.store: member.offset for member in MergedReader(BytesSource(data)).members}
    meta = checkpoint_meta(checkpoint, number, batch)
    for operator in meta["operators"]:
        for each in operator["stores"]:
            for handle in each["partitions"]:
                below = "" if each["name"] == "default" else f"/{each['name']}"
                folder = f"state/{operator['id']}/{handle['partition']}{below}"
                handle["merged"] = {"uid": ref.uid, "offset": places[folder]}
    metadata.write_bytes(write_frame(Kind.CHECKPOINT, [], json.dumps(meta).encode(), number=2))
    for store in checkpoint.stores:
        store.path(make_ref(batch + 1), Kind.HANDLE).unlink()
    path = checkpoint.root / merged_name(ref)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def build_interval_sample(root: Path) -> CheckpointBuilder:
    """Six batches; checkpoint 1 of batch 2 and 2 of batch 4. No version has a changelog in storage."""
    checkpoint = CheckpointBuilder(root)
    checkpoint.add_operator(0, "stateStoreSave", 2)
    checkpoint.add_operator(1, "symmetricHashJoin", 2, ["left", "right"])
    for partition in range(2):
        checkpoint.add_store(0, partition)
        checkpoint.add_store(1, partition, "left")
        checkpoint.add_store(1, partition, "right")
    for batch in range(6):
        for store in checkpoint.stores:
            changelog = store.path(store.commit(*[put(f"{batch}-{i}".encode(), b"x" * 20) for i in range(30)]), CHANGE)
            changelog.unlink()
            if batch in (2, 4):
                store.take_snapshot()
        checkpoint.finish_batch(batch)
    write_checkpoint(checkpoint, 1, 2)
    write_checkpoint(checkpoint, 2, 4)
    (checkpoint.root / "snapline" / "interval").write_bytes(b"")
    return checkpoint


CHANGE = Kind.CHANGELOG
