"""Names of the files of a store (docs/FORMAT.md, section 1)."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

TABLE_FOLDER = "sst"
MERGED_FOLDER = "snapline/merged"

# Version 7 only: Spark's own changelogs with checkpoint format 2 have names of the same shape, with uids of version 4.
_UID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_FRAMED = re.compile(rf"(\d{{1,18}})_({_UID})\.(changelog|handle)")
_MERGED = re.compile(rf"(\d{{1,18}})_({_UID})\.merged")
_TABLE = re.compile(rf"({_UID})\.sst")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+(\.sst)?")


class Kind(Enum):
    """The kinds of framed file. The value is what its meta calls it, and in a store the ending of the name."""

    CHANGELOG = "changelog"
    HANDLE = "handle"
    CHECKPOINT = "checkpoint"
    SAVEPOINT = "savepoint"
    MERGED = "merged"
    CUT = "cut"

    @property
    def magic(self) -> bytes:
        """The first eight bytes of the file."""
        return _MAGIC[self]


_MAGIC = {
    Kind.CHANGELOG: b"SNAPCLOG",
    Kind.HANDLE: b"SNAPHNDL",
    Kind.CHECKPOINT: b"SNAPMETA",
    Kind.SAVEPOINT: b"SNAPSAVE",
    Kind.MERGED: b"SNAPMERG",
    Kind.CUT: b"SNAPCUTS",
}


class VersionRef(NamedTuple):
    """One state of one store: Spark's state version and the uid of the attempt that made it. Sorts by age."""

    version: int
    uid: str

    def file_name(self, kind: Kind) -> str:
        """The file this state has or would have."""
        return f"{self.version}_{self.uid}.{kind.value}"

    def __str__(self) -> str:
        return f"{self.version} ({self.uid})"


def parse_name(name: str) -> tuple[VersionRef, Kind] | None:
    """The kind and version of a file, by its name; None for a file that is not ours."""
    match = _FRAMED.fullmatch(name)
    if match is None:
        return None
    return VersionRef(int(match[1]), match[2]), Kind(match[3])


def merged_name(ref: VersionRef) -> str:
    """A merged file, relative to the checkpoint: its version is that of its members, its uid its own."""
    return f"{MERGED_FOLDER}/{ref.file_name(Kind.MERGED)}"


def parse_merged_name(path: str) -> VersionRef | None:
    """The version and uid of a merged file, by its path in the checkpoint; None for another file."""
    folder, _, name = path.rpartition("/")
    match = _MERGED.fullmatch(name)
    return VersionRef(int(match[1]), match[2]) if match and folder == MERGED_FOLDER else None


def parse_table_name(name: str) -> str | None:
    """The uid of a table file; None for a file that is not ours."""
    match = _TABLE.fullmatch(name)
    return match[1] if match else None


def table_name(uid: str) -> str:
    """A table file, relative to the store's folder."""
    return f"{TABLE_FOLDER}/{uid}.sst"


def is_uid(text: str) -> bool:
    """Whether the text is a UUID of version 7 as FORMAT.md writes them."""
    return re.fullmatch(_UID, text) is not None


def uid_millis(uid: str) -> int:
    """The logical time of a uid, in milliseconds since 1970."""
    return int(uid[0:8] + uid[9:13], 16)


def is_plain(name: str) -> bool:
    """Whether a name that a handle gives stays in the folder it is put into."""
    return _PLAIN.fullmatch(name) is not None
