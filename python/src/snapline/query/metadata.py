"""``snapline/chk-<k>/_metadata``: what makes a checkpoint exist (docs/FORMAT.md, section 9)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from snapline.errors import CheckpointDamaged
from snapline.format import Kind, VersionRef
from snapline.format.frame import FrameReader
from snapline.format.names import is_uid
from snapline.format.source import BytesSource
from snapline.query.files import Files
from snapline.query.handles import OperatorHandles, PartitionHandle, SharedFile, StoreHandles
from snapline.query.journal import CheckpointRef

CHECKPOINTS = "snapline"
METADATA = "_metadata"
_DEFAULT_STORE = "default"
_STORE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class CheckpointMetadata:
    """A complete checkpoint. Times in milliseconds since 1970.

    Attributes:
        properties: what becomes of it, such as ``CHECKPOINT_RETAINED_ON_FAILURE``.
        offsets: the offset log's entry of its batch, and ``commit`` the commit log's, as text.
        watermark: of the batch after it, in milliseconds.
        writer: version of Snapline, and ``spark`` of Spark.
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
        """All files that it names itself, relative to the checkpoint folder."""
        for operator, store, handle in self.handles():
            below = "" if store.name == _DEFAULT_STORE else f"/{store.name}"
            yield f"state/{operator.id}/{handle.partition}{below}/{handle.ref.file_name(Kind.HANDLE)}"


def metadata_name(checkpoint: int) -> str:
    """The file of a checkpoint, relative to the checkpoint folder."""
    return f"{CHECKPOINTS}/chk-{checkpoint}/{METADATA}"


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
    try:
        frame = FrameReader(BytesSource(data, path), Kind.CHECKPOINT)
    except CheckpointDamaged as e:
        raise _damaged(path, e.found.removeprefix(f"{path}: ").removesuffix(".")) from None
    try:
        return _checkpoint(json.loads(frame.meta.decode("utf-8")))
    except (ValueError, RecursionError) as e:
        raise _damaged(path, f"its meta cannot be read: {e}") from None


def _checkpoint(meta: Any) -> CheckpointMetadata:
    if not isinstance(meta, dict):
        raise ValueError("it is no object")
    if _text(meta, "kind") != Kind.CHECKPOINT.value:
        raise ValueError("it is not that of a checkpoint")
    checkpoint = CheckpointMetadata(
        id=_count(meta, "checkpoint"),
        query=_text(meta, "query"),
        run=_text(meta, "run"),
        batch=_count(meta, "batch"),
        properties=_text(meta, "properties"),
        triggered=_count(meta, "triggered"),
        acknowledged=_count(meta, "acknowledged"),
        completed=_count(meta, "completed"),
        operators=tuple(_operator(item) for item in _items(meta, "operators")),
        offsets=_text(meta, "offsets"),
        commit=_text(meta, "commit"),
        watermark=_count(meta, "watermark"),
        max_parallelism=_count(meta, "maxParallelism"),
        writer=_text(meta, "writer"),
        spark=_text(meta, "spark"),
    )
    numbers = [operator.id for operator in checkpoint.operators]
    if len(set(numbers)) < len(numbers):
        raise ValueError("an operator comes twice")
    for operator in checkpoint.operators:
        for store in operator.stores:
            if any(handle.ref.version <= checkpoint.batch for handle in store.partitions):
                raise ValueError(f"operator {operator.id} has a version that is not above batch {checkpoint.batch}")
    return checkpoint


def _operator(item: dict[str, Any]) -> OperatorHandles:
    number, parallelism = _count(item, "id"), _count(item, "parallelism")
    stores = tuple(_store(store) for store in _items(item, "stores"))
    if not stores or len({store.name for store in stores}) < len(stores):
        raise ValueError(f"operator {number} has no store, or one twice")
    for store in stores:
        if sorted(handle.partition for handle in store.partitions) != list(range(parallelism)):
            raise ValueError(f"store {store.name} of operator {number} has not {parallelism} partitions")
    return OperatorHandles(number, _text(item, "name"), parallelism, stores)


def _store(item: dict[str, Any]) -> StoreHandles:
    name = _text(item, "name")
    if _STORE_NAME.fullmatch(name) is None:
        raise ValueError("the name of a store leaves its folder")
    return StoreHandles(name, tuple(_handle(handle) for handle in _items(item, "partitions")))


def _handle(item: dict[str, Any]) -> PartitionHandle:
    uploaded = item.get("uploaded")
    if not isinstance(uploaded, dict):
        raise ValueError("uploaded is no object")
    return PartitionHandle(
        partition=_count(item, "partition"),
        ref=VersionRef(_count(item, "version"), _uid(item)),
        bytes=_count(item, "bytes"),
        handle_bytes=_count(item, "handleBytes"),
        sync=_count(item, "sync"),
        async_=_count(item, "async"),
        uploaded_files=_count(uploaded, "files"),
        uploaded_bytes=_count(uploaded, "bytes"),
        files=tuple(
            SharedFile(_uid(file), _count(file, "length"), _count(file, "crc32c")) for file in _items(item, "files")
        ),
    )


def _uid(item: dict[str, Any]) -> str:
    uid = _text(item, "uid")
    if not is_uid(uid):
        raise ValueError("a uid is no UUID of version 7")
    return uid


def _items(item: dict[str, Any], member: str) -> list[dict[str, Any]]:
    items = item.get(member)
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise ValueError(f"{member} is no array of objects")
    return items


def _text(item: dict[str, Any], member: str) -> str:
    value = item.get(member)
    if not isinstance(value, str):
        raise ValueError(f"{member} is no text")
    return value


def _count(item: dict[str, Any], member: str) -> int:
    value = item.get(member)
    # A bool is an int to Python, not to JSON.
    if type(value) is not int or value < 0:
        raise ValueError(f"{member} is no number from 0 on")
    return value


def _damaged(path: str, what: str) -> CheckpointDamaged:
    return CheckpointDamaged(f"{path}: {what}.", "take an older checkpoint (restore=).")
