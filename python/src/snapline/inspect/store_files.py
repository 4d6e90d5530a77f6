"""The files of each store of a checkpoint (docs/FORMAT.md, section 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from snapline.format.merged import Member
from snapline.format.names import TABLE_FOLDER, Kind, VersionRef, parse_name, parse_table_name
from snapline.inspect.files import StoredFile

DEFAULT_STORE = "default"

_STORE_FOLDER = re.compile(r"state/(\d{1,9})/(\d{1,9})(?:/([^/]+))?")
# Spark's providers; those of checkpoint format 2 add a uid of version 4.
_SPARKS = re.compile(r"\d+(_[0-9a-f-]{36}){0,2}\.(delta|snapshot|zip|changelog)")


class StoreKey(NamedTuple):
    """One store: one partition of one operator, and its name where an operator has several."""

    operator: int
    partition: int
    store: str

    def __str__(self) -> str:
        name = "" if self.store == DEFAULT_STORE else f" {self.store}"
        return f"operator {self.operator} partition {self.partition}{name}"


@dataclass
class StoreFiles:
    """The files of one store.

    Attributes:
        members: handles that lie in merged files, and the names of those.
        foreign: files of Spark's own providers.
    """

    key: StoreKey
    folder: str
    changelogs: dict[VersionRef, StoredFile] = field(default_factory=dict)
    handles: dict[VersionRef, StoredFile] = field(default_factory=dict)
    tables: dict[str, StoredFile] = field(default_factory=dict)
    members: dict[VersionRef, tuple[str, Member]] = field(default_factory=dict)
    foreign: list[StoredFile] = field(default_factory=list)

    @property
    def refs(self) -> list[VersionRef]:
        """Every state that has a file, in order."""
        return sorted(self.changelogs.keys() | self.snapshots)

    @property
    def snapshots(self) -> set[VersionRef]:
        """Every state that has a handle."""
        return self.handles.keys() | self.members.keys()

    @property
    def is_own(self) -> bool:
        """Whether Snapline has written anything of this store."""
        return bool(self.own or self.members)

    def handle(self, ref: VersionRef) -> tuple[str, int]:
        """The file that a handle is or lies in, relative to the checkpoint, and the handle's bytes."""
        if ref in self.handles:
            return self.handles[ref].name, self.handles[ref].size
        name, member = self.members[ref]
        return name, member.length

    def candidates(self, version: int) -> list[VersionRef]:
        """The states of a version, the latest attempt first."""
        return [ref for ref in reversed(self.refs) if ref.version == version]

    @property
    def own(self) -> list[StoredFile]:
        """All files of Snapline in the store's folder."""
        return [*self.changelogs.values(), *self.handles.values(), *self.tables.values()]


def group_files(files: Iterable[StoredFile], members: Iterable[tuple[str, Member]] = ()) -> dict[StoreKey, StoreFiles]:
    """Sorts the files below state/ into their stores; unknown files are left out.

    Args:
        members: the handles in merged files, and the names of those files.
    """
    stores: dict[StoreKey, StoreFiles] = {}
    for file in files:
        place = _place(file.name)
        if place is not None:
            folder, key, name = place
            store = stores.get(key) or StoreFiles(key, folder)
            if _add(store, name, file):
                stores[key] = store
    for name, member in members:
        place = _place(f"{member.store}/{member.ref.file_name(Kind.HANDLE)}")
        if place is not None:
            folder, key, _ = place
            stores.setdefault(key, StoreFiles(key, folder)).members[member.ref] = (name, member)
    return stores


def _place(path: str) -> tuple[str, StoreKey, str] | None:
    """Folder and key of the store a path lies in, and the file's name relative to that folder."""
    parent, _, name = path.rpartition("/")
    if parent.endswith(f"/{TABLE_FOLDER}"):
        parent, name = parent[: -len(TABLE_FOLDER) - 1], f"{TABLE_FOLDER}/{name}"
    match = _STORE_FOLDER.fullmatch(parent)
    if match is None or (match[3] or "").startswith("_"):
        return None
    return parent, StoreKey(int(match[1]), int(match[2]), match[3] or DEFAULT_STORE), name


def _add(store: StoreFiles, name: str, file: StoredFile) -> bool:
    """Whether the file is one of Snapline's or of Spark's providers."""
    parsed = parse_name(name)
    table = parse_table_name(name[len(TABLE_FOLDER) + 1 :]) if name.startswith(f"{TABLE_FOLDER}/") else None
    if parsed is not None:
        ref, kind = parsed
        (store.changelogs if kind is Kind.CHANGELOG else store.handles)[ref] = file
    elif table is not None:
        store.tables[table] = file
    elif _SPARKS.fullmatch(name):
        store.foreign.append(file)
    else:
        return False
    return True
