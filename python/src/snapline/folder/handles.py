"""What a checkpoint names: the snapshot of each partition of each operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from snapline.format import VersionRef
from snapline.format.names import merged_name


class SharedFile(NamedTuple):
    """A table file: ``sst/<uid>.sst`` in its store's folder. Length in bytes."""

    uid: str
    length: int
    crc32c: int


class MergedPlace(NamedTuple):
    """Where in a merged file a handle is: the file has the handle's version and this uid."""

    uid: str
    offset: int


@dataclass(frozen=True)
class PartitionHandle:
    """The snapshot of one store: one partition of one operator. Sizes in bytes, durations in milliseconds.

    Attributes:
        bytes: of everything that the handle names.
        handle_bytes: of the handle file.
        sync, async_: of the two phases of the snapshot.
        uploaded_files, uploaded_bytes: what this checkpoint wrote itself.
        files: its table files.
        merged: where the handle is; None: in a file of its own.
        in_flight: of ``bytes``, those of rows that had come and were not processed.
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
    merged: MergedPlace | None = None
    in_flight: int = 0

    @property
    def merged_file(self) -> str | None:
        """The merged file that the handle lies in, relative to the checkpoint; None: it is a file of its own."""
        return None if self.merged is None else merged_name(VersionRef(self.ref.version, self.merged.uid))


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
