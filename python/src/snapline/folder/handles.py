"""What a checkpoint names: the snapshot of each partition of each operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from snapline.format import VersionRef
from snapline.format.names import merged_name

# Spark's name of an operator's only store, which has no folder of its own.
_DEFAULT = "default"


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
        bytes: size of all files that the handle names.
        handle_bytes: size of the handle file.
        sync, async_: durations of the two phases of the snapshot.
        uploaded_files, uploaded_bytes: number and size of the files that this checkpoint wrote itself.
        files: its table files.
        merged: the handle's place in a merged file; None: in a file of its own.
        in_flight: the part of ``bytes`` that is in-flight data.
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

    def folder(self, operator: int, partition: int) -> str:
        """Where the files of one of them are, relative to the checkpoint folder."""
        below = "" if self.name == _DEFAULT else f"/{self.name}"
        return f"state/{operator}/{partition}{below}"


@dataclass(frozen=True)
class OperatorHandles:
    """A stateful operator in a checkpoint."""

    id: int
    name: str
    parallelism: int
    stores: tuple[StoreHandles, ...]
