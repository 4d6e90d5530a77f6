"""The JSON of changelogs and handles as values (docs/FORMAT.md, sections 3 and 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snapline.format.frame import damaged
from snapline.format.names import Kind, VersionRef, is_plain, is_uid, table_name

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
    """A RocksDB table file: the backend's name for it, and where it lies. Length in bytes."""

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
    """What both kinds have in common. ``created`` in milliseconds since 1970."""

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


class _Bad(ValueError):
    """The meta is not what FORMAT.md says."""


def parse_changelog_meta(data: bytes, path: str) -> ChangelogMeta:
    """Unknown members are ignored.

    Raises:
        CheckpointDamaged: a member is missing or of another type.
    """
    try:
        meta = _object(data, Kind.CHANGELOG)
        return ChangelogMeta(
            **_common(meta),
            parent=_optional_ref(meta, "parent"),
            snapshot=_optional_ref(meta, "snapshot"),
            entries=_count(meta, "entries"),
            raw_bytes=_count(meta, "rawBytes"),
            snapshot_distance=_count(meta, "snapshotDistance"),
            changelog_bytes=_count(meta, "changelogBytes"),
        )
    except _Bad as e:
        raise damaged(path, f"its meta cannot be read: {e}") from None


def parse_handle_meta(data: bytes, path: str) -> HandleMeta:
    """Unknown members are ignored.

    Raises:
        CheckpointDamaged: a member is missing or of another type, or a file name leaves its folder.
    """
    try:
        meta = _object(data, Kind.HANDLE)
        uploaded = _need(meta, "uploaded", dict)
        return HandleMeta(
            **_common(meta),
            backend=_need(meta, "backend", str),
            files=tuple(_table_file(item) for item in _items(meta, "files")),
            local=tuple((_file_name(item), _count(item, "length")) for item in _items(meta, "local")),
            state_bytes=_count(meta, "stateBytes"),
            uploaded_files=_count(uploaded, "files"),
            uploaded_bytes=_count(uploaded, "bytes"),
        )
    except _Bad as e:
        raise damaged(path, f"its meta cannot be read: {e}") from None


def _object(data: bytes, kind: Kind) -> dict[str, Any]:
    try:
        meta = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise _Bad(f"it is no JSON ({type(e).__name__})") from None
    if not isinstance(meta, dict):
        raise _Bad("it is no JSON object")
    if _need(meta, "kind", str) != kind.value:
        raise _Bad(f"it is not that of a {kind.value}")
    return meta


def _common(meta: dict[str, Any]) -> dict[str, Any]:
    properties = _need(meta, "properties", dict)
    if not all(isinstance(value, str) for value in properties.values()):
        raise _Bad("a property is no text")
    return {
        "ref": _ref(meta),
        "families": tuple(_family(item) for item in _items(meta, "families")),
        "writer": _need(meta, "writer", str),
        "created": _count(meta, "created"),
        "run": _need(meta, "run", str),
        "properties": properties,
    }


def _ref(item: dict[str, Any]) -> VersionRef:
    uid = _need(item, "uid", str)
    if not is_uid(uid):
        raise _Bad("a uid is no UUID of version 7")
    return VersionRef(_count(item, "version"), uid)


def _optional_ref(meta: dict[str, Any], member: str) -> VersionRef | None:
    if member not in meta:
        raise _Bad(f"{member} is missing")
    return None if meta[member] is None else _ref(_need(meta, member, dict))


def _family(item: dict[str, Any]) -> Family:
    number = _count(item, "id")
    if number > MAX_FAMILY_ID:
        raise _Bad("a family id is too large")
    flags = {name: _need(item, name, bool) for name in ("keyGroups", "multi", "internal")}
    return Family(
        number,
        _need(item, "name", str),
        _count(item, "keys"),
        flags["keyGroups"],
        flags["multi"],
        flags["internal"],
    )


def _table_file(item: dict[str, Any]) -> TableFile:
    uid = _need(item, "uid", str)
    if not is_uid(uid):
        raise _Bad("the uid of a table file is no UUID of version 7")
    return TableFile(_file_name(item), uid, _count(item, "length"), _count(item, "crc32c"))


def _file_name(item: dict[str, Any]) -> str:
    name: str = _need(item, "name", str)
    if not is_plain(name):
        raise _Bad("the name of a file leaves its folder")
    return name


def _items(meta: dict[str, Any], member: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = _need(meta, member, list)
    if not all(isinstance(item, dict) for item in items):
        raise _Bad(f"{member} holds something else than objects")
    return items


def _count(item: dict[str, Any], member: str) -> int:
    value = item.get(member)
    # A bool is an int to Python, not to JSON.
    if type(value) is not int or value < 0:
        raise _Bad(f"{member} is no number from 0 on")
    return value


def _need(item: dict[str, Any], member: str, kind: type) -> Any:
    value = item.get(member)
    if type(value) is not kind:
        raise _Bad(f"{member} is missing or of another type")
    return value
