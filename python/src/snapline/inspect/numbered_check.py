"""Whether the stores hold what the numbered checkpoints name, after every byte of them has been read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from snapline.errors import CheckpointDamaged, SnaplineError, StateNotFound, StorageFailure
from snapline.folder.handles import PartitionHandle
from snapline.folder.metadata import CheckpointMetadata
from snapline.inspect.checkpoint import CheckpointFolder
from snapline.inspect.numbered import NumberedCheckpoint, Status
from snapline.inspect.store import Store
from snapline.inspect.store_files import StoreKey


def judge(checkpoint: CheckpointFolder, found: Sequence[NumberedCheckpoint]) -> list[NumberedCheckpoint]:
    """The same checkpoints; those that turn out not to load are damaged, and those subsumed since are left out."""
    return [judged for each in found if (judged := _judge(checkpoint, each)) is not None]


def named_files(found: Sequence[NumberedCheckpoint], checkpoint: CheckpointFolder) -> set[str]:
    """Every file in the stores that a checkpoint names which was not quarantined, relative to the folder."""
    names: set[str] = set()
    for each in found:
        if each.metadata is None or each.status is Status.SET_ASIDE:
            continue
        names |= set(each.metadata.handle_names())
        for store, handle in _stores(checkpoint, each.metadata):
            if store is not None:
                names |= {f"{store.files.folder}/sst/{file.uid}.sst" for file in handle.files}
    return names


def _judge(checkpoint: CheckpointFolder, each: NumberedCheckpoint) -> NumberedCheckpoint | None:
    if each.status not in (Status.COMPLETE, Status.OUT_OF_REACH) or each.metadata is None:
        return each
    failures = list(_failures(checkpoint, each.metadata))
    if not failures:
        return each
    try:
        # A query that runs removes what newer checkpoints stand in for, this file first.
        with checkpoint.folder.open(each.file_name):
            pass
    except StateNotFound:
        return None
    error = CheckpointDamaged(
        f"{failures[0]}{f' {len(failures) - 1} more of its stores are damaged.' if len(failures) > 1 else ''}",
        "nothing: the next start takes an older one that is sound, if there is one.",
    )
    return replace(each, status=Status.DAMAGED, error=error)


def _failures(checkpoint: CheckpointFolder, metadata: CheckpointMetadata) -> Iterator[str]:
    for store, handle in _stores(checkpoint, metadata):
        failure = _failure(store, handle)
        if failure is not None:
            yield failure


def _failure(store: Store | None, handle: PartitionHandle) -> str | None:
    if store is None:
        return f"The store of partition {handle.partition} has no files."
    try:
        meta = store.handle_meta(handle.ref)
    except StorageFailure:
        raise
    except SnaplineError as e:
        return e.found
    if handle.merged is not None and handle.ref not in store.files.handles:
        name, member = store.files.members[handle.ref]
        if (name, member.offset, member.length) != (handle.merged_file, handle.merged.offset, handle.handle_bytes):
            return f"{store.key} has its handle of version {handle.ref} at another place in {name} than _metadata says."
    if {(file.uid, file.length, file.crc32c) for file in meta.files} != set(handle.files):
        return f"{store.key} has a handle of version {handle.ref} that names other table files than _metadata."
    if not store.handle_is_sound(handle.ref):
        return f"{store.key} lacks a table file of version {handle.ref}, or it is damaged."
    return None


def _stores(
    checkpoint: CheckpointFolder, metadata: CheckpointMetadata
) -> Iterator[tuple[Store | None, PartitionHandle]]:
    stores = {store.key: store for store in checkpoint.stores}
    for operator, store, handle in metadata.handles():
        yield stores.get(StoreKey(operator.id, handle.partition, store.name)), handle
