"""The JSON of changelogs and handles as values (docs/FORMAT.md, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snapline.format.frame import damaged
from snapline.format.members import BadMeta, count, items, meta_object, need, uid, version_ref
from snapline.format.names import Kind, VersionRef, is_plain, table_name

MAX_FAMILY_ID = 65_535


@dataclass(frozen=True)
class Family:
    """One named state, and how many keys it holds."""

    id: int
    name: str
    keys: int
    key_groups: bool
    multi: bool
    internal: bool


@dataclass(frozen=True)
class TableFile:
    """A table file of RocksDB or of the heap: the backend's name for it, and where it lies. Length in bytes."""

    name: str
    uid: str
    length: int
    crc32c: int

    @property
    def stored_name(self) -> str:
        """Relative to the store's folder."""
        return table_name(self.uid)


@dataclass(frozen=True)
class Meta:
    """The members that both kinds have in common. ``created`` in milliseconds since 1970."""

    ref: VersionRef
    families: tuple[Family, ...]
    writer: str
    created: int
    run: str
    properties: Mapping[str, str]


@dataclass(frozen=True)
class ChangelogMeta(Meta):
    """``raw_bytes`` before compression; ``changelog_bytes`` in storage, of all changelogs since the snapshot."""

    parent: VersionRef | None
    snapshot: VersionRef | None
    entries: int
    raw_bytes: int
    snapshot_distance: int
    changelog_bytes: int


@dataclass(frozen=True)
class HandleMeta(Meta):
    """``local`` are names and lengths of the files whose bytes are the blocks; all sizes in bytes."""

    backend: str
    files: tuple[TableFile, ...]
    local: tuple[tuple[str, int], ...]
    state_bytes: int
    uploaded_files: int
    uploaded_bytes: int


def parse_changelog_meta(data: bytes, path: str) -> ChangelogMeta:
    """Unknown members are ignored.

    Raises:
        CheckpointDamaged: a member is missing or of another type.
    """
    try:
        meta = meta_object(data, Kind.CHANGELOG)
        return ChangelogMeta(
            **_common(meta),
            parent=_optional_ref(meta, "parent"),
            snapshot=_optional_ref(meta, "snapshot"),
            entries=count(meta, "entries"),
            raw_bytes=count(meta, "rawBytes"),
            snapshot_distance=count(meta, "snapshotDistance"),
            changelog_bytes=count(meta, "changelogBytes"),
        )
    except BadMeta as e:
        raise damaged(path, f"its meta cannot be read: {e}") from None


def parse_handle_meta(data: bytes, path: str) -> HandleMeta:
    """Unknown members are ignored.

    Raises:
        CheckpointDamaged: a member is missing or of another type, or a file name leaves its folder.
    """
    try:
        meta = meta_object(data, Kind.HANDLE)
        uploaded = need(meta, "uploaded", dict)
        return HandleMeta(
            **_common(meta),
            backend=need(meta, "backend", str),
            files=tuple(_table_file(item) for item in items(meta, "files")),
            local=tuple((_file_name(item), count(item, "length")) for item in items(meta, "local")),
            state_bytes=count(meta, "stateBytes"),
            uploaded_files=count(uploaded, "files"),
            uploaded_bytes=count(uploaded, "bytes"),
        )
    except BadMeta as e:
        raise damaged(path, f"its meta cannot be read: {e}") from None


def _common(meta: dict[str, Any]) -> dict[str, Any]:
    properties = need(meta, "properties", dict)
    if not all(isinstance(value, str) for value in properties.values()):
        raise BadMeta("a property is no text")
    return {
        "ref": version_ref(meta),
        "families": tuple(_family(item) for item in items(meta, "families")),
        "writer": need(meta, "writer", str),
        "created": count(meta, "created"),
        "run": need(meta, "run", str),
        "properties": properties,
    }


def _optional_ref(meta: dict[str, Any], member: str) -> VersionRef | None:
    if member not in meta:
        raise BadMeta(f"{member} is missing")
    return None if meta[member] is None else version_ref(need(meta, member, dict))


def _family(item: dict[str, Any]) -> Family:
    number = count(item, "id")
    if number > MAX_FAMILY_ID:
        raise BadMeta("a family id is too large")
    flags = {name: need(item, name, bool) for name in ("keyGroups", "multi", "internal")}
    return Family(
        number,
        need(item, "name", str),
        count(item, "keys"),
        flags["keyGroups"],
        flags["multi"],
        flags["internal"],
    )


def _table_file(item: dict[str, Any]) -> TableFile:
    return TableFile(_file_name(item), uid(item), count(item, "length"), count(item, "crc32c"))


def _file_name(item: dict[str, Any]) -> str:
    name: str = need(item, "name", str)
    if not is_plain(name):
        raise BadMeta("the name of a file leaves its folder")
    return name
