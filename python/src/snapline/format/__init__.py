"""Reads the files of a store without a JVM, as docs/FORMAT.md specifies them."""

from snapline.format.changelog import ChangelogReader, Entry, Operation
from snapline.format.handle import HandleReader
from snapline.format.merged import Member, MemberSource, MergedReader
from snapline.format.meta import ChangelogMeta, Family, HandleMeta, TableFile
from snapline.format.names import Kind, VersionRef

__all__ = [
    "ChangelogMeta",
    "ChangelogReader",
    "Entry",
    "Family",
    "HandleMeta",
    "HandleReader",
    "Kind",
    "Member",
    "MemberSource",
    "MergedReader",
    "Operation",
    "TableFile",
    "VersionRef",
]
