"""``snapline/chk-<k>/_metadata``: what makes a checkpoint exist (docs/FORMAT.md, section 9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from snapline.errors import CheckpointDamaged
from snapline.folder.files import Files
from snapline.folder.handles import MergedPlace, OperatorHandles, PartitionHandle, SharedFile, StoreHandles
from snapline.folder.journal import CheckpointRef
from snapline.format import Kind
from snapline.format.members import BadMeta, count, items, need, uid, version_ref
from snapline.format.meta_file import parse_meta_file

CHECKPOINTS = "snapline"
METADATA = "_metadata"
_FOLDER = re.compile(r"chk-(\d{1,18})")
_STORE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class CheckpointMetadata:
    """A complete checkpoint. Times in milliseconds since 1970.

    Attributes:
        properties: how it is kept, such as ``CHECKPOINT_RETAINED_ON_FAILURE``.
        offsets: the offset log's entry of its batch, and ``commit`` the commit log's, as text.
        watermark: the watermark of the batch after it, in milliseconds.
        writer: the version of Snapline, and ``spark`` that of Spark.
    """

    id: int
    query: str
    run: str
    batch: int
    properties: str
    triggered: int
    acknowledged: int
    completed: int
    operators: tuple[OperatorHandles, ...]
    offsets: str
    commit: str
    watermark: int
    max_parallelism: int
    writer: str
    spark: str

    @property
    def ref(self) -> CheckpointRef:
        """For :meth:`Recovery.run`."""
        return CheckpointRef(self.id, self.batch)

    @property
    def in_flight(self) -> int:
        """Bytes of rows in it that had come and were not processed (``unaligned``)."""
        return sum(handle.in_flight for *_, handle in self.handles())

    @property
    def ahead(self) -> int:
        """How many stores' snapshots hold batches after its own (``AT_LEAST_ONCE``)."""
        return sum(handle.ref.version > self.batch + 1 for _, _, handle in self.handles())

    @property
    def newest_batch(self) -> int:
        """The newest batch that a snapshot of it holds."""
        return max((handle.ref.version - 1 for _, _, handle in self.handles()), default=self.batch)

    @property
    def is_savepoint(self) -> bool:
        """Whether a person asked for it, and nothing the system does removes it."""
        return self.properties in ("SAVEPOINT", "SYNC_SAVEPOINT")

    @property
    def state_size(self) -> int:
        """Bytes of everything it takes to load it."""
        return sum(handle.bytes for _, _, handle in self.handles())

    @property
    def checkpointed_size(self) -> int:
        """Bytes that it wrote itself."""
        return sum(handle.uploaded_bytes + handle.handle_bytes for _, _, handle in self.handles())

    def handles(self) -> Iterator[tuple[OperatorHandles, StoreHandles, PartitionHandle]]:
        """Every store's snapshot, and what it belongs to."""
        for operator in self.operators:
            for store in operator.stores:
                for handle in store.partitions:
                    yield operator, store, handle

    def handle_names(self) -> Iterator[str]:
        """All files that its handles are or lie in, each once, relative to the checkpoint folder."""
        yield from dict.fromkeys(self._handle_names())

    def _handle_names(self) -> Iterator[str]:
        for operator, store, handle in self.handles():
            folder = store.folder(operator.id, handle.partition)
            yield handle.merged_file or f"{folder}/{handle.ref.file_name(Kind.HANDLE)}"


def metadata_name(checkpoint: int) -> str:
    """The file of a checkpoint, relative to the checkpoint folder."""
    return f"{CHECKPOINTS}/chk-{checkpoint}/{METADATA}"


def aside_name(checkpoint: int) -> str:
    """The name of a quarantined ``_metadata``, relative to the checkpoint folder."""
    return f"{metadata_name(checkpoint)}.damaged"


def folder_numbers(files: Files) -> list[int]:
    """The numbers of all checkpoints that have a folder, complete or not, ascending."""
    matches = (_FOLDER.fullmatch(name) for name in files.list(CHECKPOINTS))
    return sorted(int(match[1]) for match in matches if match is not None)


def read_checkpoint(files: Files, checkpoint: int) -> CheckpointMetadata:
    """
    Raises:
        StateNotFound: there is no such checkpoint.
        CheckpointDamaged: a check fails, or a member is missing or of another type.
        UnsupportedVersion: it is of a later version.
    """
    name = metadata_name(checkpoint)
    path = f"{files.location}/{name}"
    metadata = parse_checkpoint(files.read(name), path)
    if metadata.id != checkpoint:
        raise _damaged(path, f"it is that of checkpoint {metadata.id}")
    return metadata


def parse_checkpoint(data: bytes, path: str) -> CheckpointMetadata:
    """Unknown members are ignored.

    Raises:
        CheckpointDamaged: a check fails, or a member is missing or of another type.
        UnsupportedVersion: the format number is unknown.
    """
    return parse_meta_file(data, path, Kind.CHECKPOINT, _checkpoint, _damaged)


def _checkpoint(meta: dict[str, Any]) -> CheckpointMetadata:
    checkpoint = CheckpointMetadata(
        id=count(meta, "checkpoint"),
        query=need(meta, "query", str),
        run=need(meta, "run", str),
        batch=count(meta, "batch"),
        properties=need(meta, "properties", str),
        triggered=count(meta, "triggered"),
        acknowledged=count(meta, "acknowledged"),
        completed=count(meta, "completed"),
        operators=tuple(_operator(item) for item in items(meta, "operators")),
        offsets=need(meta, "offsets", str),
        commit=need(meta, "commit", str),
        watermark=count(meta, "watermark"),
        max_parallelism=count(meta, "maxParallelism"),
        writer=need(meta, "writer", str),
        spark=need(meta, "spark", str),
    )
    numbers = [operator.id for operator in checkpoint.operators]
    if len(set(numbers)) < len(numbers):
        raise BadMeta("an operator comes twice")
    for operator in checkpoint.operators:
        for store in operator.stores:
            if any(handle.ref.version <= checkpoint.batch for handle in store.partitions):
                raise BadMeta(f"operator {operator.id} has a version that is not above batch {checkpoint.batch}")
    return checkpoint


def _operator(item: dict[str, Any]) -> OperatorHandles:
    number, parallelism = count(item, "id"), count(item, "parallelism")
    stores = tuple(_store(store) for store in items(item, "stores"))
    if not stores or len({store.name for store in stores}) < len(stores):
        raise BadMeta(f"operator {number} has no store, or one twice")
    for store in stores:
        if not _are_all(store.partitions, parallelism):
            raise BadMeta(f"store {store.name} of operator {number} has not {parallelism} partitions")
    return OperatorHandles(number, need(item, "name", str), parallelism, stores)


def _are_all(partitions: Sequence[PartitionHandle], parallelism: int) -> bool:
    """Whether each is there once. The number is believed last: whoever made it up could ask for any memory."""
    return len(partitions) == parallelism == len({handle.partition for handle in partitions}) and all(
        handle.partition < parallelism for handle in partitions
    )


def _store(item: dict[str, Any]) -> StoreHandles:
    name = need(item, "name", str)
    if _STORE_NAME.fullmatch(name) is None:
        raise BadMeta("the name of a store leaves its folder")
    return StoreHandles(name, tuple(_handle(handle) for handle in items(item, "partitions")))


def _handle(item: dict[str, Any]) -> PartitionHandle:
    uploaded = need(item, "uploaded", dict)
    merged = need(item, "merged", dict) if item.get("merged") is not None else None
    return PartitionHandle(
        partition=count(item, "partition"),
        ref=version_ref(item),
        bytes=count(item, "bytes"),
        handle_bytes=count(item, "handleBytes"),
        sync=count(item, "sync"),
        async_=count(item, "async"),
        in_flight=count(item, "inFlight") if "inFlight" in item else 0,
        uploaded_files=count(uploaded, "files"),
        uploaded_bytes=count(uploaded, "bytes"),
        files=tuple(
            SharedFile(uid(file), count(file, "length"), count(file, "crc32c")) for file in items(item, "files")
        ),
        merged=None if merged is None else MergedPlace(uid(merged), count(merged, "offset")),
    )


def _damaged(path: str, what: str) -> CheckpointDamaged:
    return CheckpointDamaged(f"{path}: {what}.", "take an older checkpoint (restore=).")
