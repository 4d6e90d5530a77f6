"""Merged files: handles of many stores in one file (docs/FORMAT.md, section 10)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from snapline.format.frame import BLOCK, CODEC_NONE, HEADER, TRAILER, FrameReader, damaged
from snapline.format.members import BadMeta, count, items, meta_object, need, uid, version_ref
from snapline.format.names import Kind, VersionRef
from snapline.format.source import Source

_STORE = re.compile(r"state/\d{1,9}/\d{1,9}(/[A-Za-z0-9][A-Za-z0-9_.-]*)?")


class Member(NamedTuple):
    """A handle in a merged file: its store's folder relative to the checkpoint, and where its bytes are."""

    store: str
    ref: VersionRef
    offset: int
    length: int


class MergedReader:
    """Reads one merged file. Does not own the source.

    Raises:
        CheckpointDamaged: anything does not add up, here or while members are read.
        UnsupportedVersion: the format number is unknown.
    """

    def __init__(self, source: Source, expected: VersionRef | None = None) -> None:
        self._path = source.path
        self._frame = FrameReader(source, Kind.MERGED)
        try:
            meta = meta_object(self._frame.meta, Kind.MERGED)
            self.ref = version_ref(meta)
            self.members = tuple(_member(item, self.ref.version) for item in items(meta, "members"))
            need(meta, "writer", str)
            count(meta, "created")
        except BadMeta as e:
            raise damaged(self._path, f"its meta cannot be read: {e}") from None
        if expected is not None and self.ref != expected:
            raise damaged(self._path, f"it holds version {self.ref}")
        end = HEADER.size
        for member in self.members:
            if member.offset != end + BLOCK.size:
                raise damaged(self._path, f"its member at {member.offset} is no block")
            end = member.offset + member.length
        if end != source.size - len(self._frame.meta) - TRAILER.size or self._frame.codec != CODEC_NONE:
            raise damaged(self._path, "its members are not its blocks")

    def read_members(self) -> Iterator[tuple[Member, bytes]]:
        """Each member and its bytes, which are a whole handle file, in order."""
        blocks = list(self._frame.read_blocks())
        if [len(block) for block in blocks] != [member.length for member in self.members]:
            raise damaged(self._path, "its members are not its blocks")
        yield from zip(self.members, blocks, strict=True)


class MemberSource:
    """One member as a file of its own. Does not own the source it lies in."""

    def __init__(self, source: Source, member: Member) -> None:
        self._source = source
        self._member = member
        self.path = f"{source.path} ({member.store})"
        if member.offset + member.length > source.size:
            raise damaged(self.path, f"it has {source.size} bytes, and this member is to lie behind them")

    @property
    def size(self) -> int:
        return self._member.length

    def read_at(self, offset: int, length: int) -> bytes:
        return self._source.read_at(self._member.offset + offset, min(length, self.size - offset))


def _member(item: dict[str, Any], version: int) -> Member:
    store = need(item, "store", str)
    if _STORE.fullmatch(store) is None:
        raise BadMeta("a member is of no store")
    return Member(store, VersionRef(version, uid(item)), count(item, "offset"), count(item, "length"))
