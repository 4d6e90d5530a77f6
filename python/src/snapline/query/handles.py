"""What a checkpoint names: the snapshot of each partition of each operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from snapline.format import VersionRef


class SharedFile(NamedTuple):
    """A table file: ``sst/<uid>.sst`` in its store's folder. Length in bytes."""

    uid: str
    length: int
    crc32c: int


@dataclass(frozen=True)
class PartitionHandle:
    """The snapshot of one store: one partition of one operator. Sizes in bytes, durations in milliseconds.

    Attributes:
        bytes: of everything that the handle names.
        handle_bytes: of the handle file.
        sync, async_: of the two phases of the snapshot.
        uploaded_files, uploaded_bytes: what this checkpoint wrote itself.
        files: its table files.
    """

    partition: int
    ref: VersionRef
    bytes: int
    handle_bytes: int
    sync: int
    async_: int
    uploaded_files: int
    uploaded_bytes: int
    files: tuple[SharedFile, ...]


@dataclass(frozen=True)
class StoreHandles:
    """The stores of one name, by partition."""

    name: str
    partitions: tuple[PartitionHandle, ...]


@dataclass(frozen=True)
class OperatorHandles:
    """A stateful operator in a checkpoint."""

    id: int
    name: str
    parallelism: int
    stores: tuple[StoreHandles, ...]
