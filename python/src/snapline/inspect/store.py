"""One store: which of its versions load, and from which files (docs/FORMAT.md, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from snapline.errors import CheckpointDamaged, SnaplineError, StateNotFound, StorageFailure
from snapline.format import ChangelogMeta, ChangelogReader, HandleMeta, HandleReader, Kind, MemberSource, VersionRef
from snapline.format.frame import damaged
from snapline.format.meta import Family
from snapline.format.names import parse_name
from snapline.format.source import Source
from snapline.inspect.files import Folder, StoredFile
from snapline.inspect.store_files import StoreFiles, StoreKey


@dataclass(frozen=True)
class Chain:
    """What loading a version takes: a snapshot (None: the empty store), then changelogs, oldest first."""

    ref: VersionRef
    handle: HandleMeta | None
    changelogs: tuple[ChangelogMeta, ...]

    @property
    def families(self) -> tuple[Family, ...]:
        """The families after this version."""
        newest = self.changelogs[-1] if self.changelogs else self.handle
        return newest.families if newest else ()


M = TypeVar("M")


class _Metas(Generic[M]):
    """Metas of one kind, or why there is none. Each is read once; failures of the storage are not kept."""

    def __init__(self, read: Callable[[VersionRef], M]) -> None:
        self._read = read
        self._good: dict[VersionRef, M] = {}
        self._bad: dict[VersionRef, SnaplineError] = {}

    def get(self, ref: VersionRef) -> M:
        if ref in self._bad:
            raise self._bad[ref]
        if ref not in self._good:
            try:
                self._good[ref] = self._read(ref)
            except StorageFailure:
                raise
            except SnaplineError as e:
                self.fail(ref, e)
                raise
        return self._good[ref]

    def fail(self, ref: VersionRef, error: SnaplineError) -> None:
        self._bad[ref] = error


class Store:
    """Answers from metas, each read once. A file that is known to be bad (:meth:`set_aside`) counts as missing."""

    def __init__(self, folder: Folder, files: StoreFiles) -> None:
        self.folder = folder
        self.files = files
        self._changelogs = _Metas(self._read_changelog_meta)
        self._handles = _Metas(self._read_handle_meta)
        self._bad_tables: set[str] = set()
        self._loadable: frozenset[VersionRef] | None = None

    @property
    def key(self) -> StoreKey:
        return self.files.key

    def file_name(self, ref: VersionRef, kind: Kind) -> str:
        """Relative to the checkpoint."""
        return f"{self.files.folder}/{ref.file_name(kind)}"

    @contextmanager
    def open_handle(self, ref: VersionRef) -> Iterator[Source]:
        """The handle to read, a file of its own or part of a merged one; closed at the end of the block.

        Raises:
            StateNotFound: it is not there (any more).
            StorageFailure: the file system refused.
        """
        if ref in self.files.handles or ref not in self.files.members:
            with self.folder.open(self.file_name(ref, Kind.HANDLE)) as source:
                yield source
        else:
            name, member = self.files.members[ref]
            with self.folder.open(name) as source:
                yield MemberSource(source, member)

    def changelog_meta(self, ref: VersionRef) -> ChangelogMeta:
        """
        Raises:
            StateNotFound: there is no such changelog.
            CheckpointDamaged, UnsupportedVersion: it fails its checks.
            StorageFailure: the file system refused.
        """
        return self._changelogs.get(ref)

    def handle_meta(self, ref: VersionRef) -> HandleMeta:
        """Raises as :meth:`changelog_meta`."""
        return self._handles.get(ref)

    def set_aside_handle(self, ref: VersionRef, error: SnaplineError) -> None:
        """From now on the handle counts as missing, with this reason."""
        self._loadable = None
        self._handles.fail(ref, error)

    def set_aside(self, file: StoredFile, error: SnaplineError) -> None:
        """From now on the file counts as missing, with this reason."""
        self._loadable = None
        name = file.name.rpartition("/")[2]
        parsed = parse_name(name)
        if parsed is None:
            self._bad_tables.add(name.removesuffix(".sst"))
        else:
            ref, kind = parsed
            (self._changelogs if kind is Kind.CHANGELOG else self._handles).fail(ref, error)

    def snapshots(self) -> list[HandleMeta]:
        """The handles that pass their checks, in order."""
        return [meta for ref in sorted(self.files.snapshots) if (meta := self._sound_handle(ref)) is not None]

    def handle_is_sound(self, ref: VersionRef) -> bool:
        """Whether this handle and all table files it names are there, and none is known to be bad."""
        return self._sound_handle(ref) is not None

    def loadable(self) -> frozenset[VersionRef]:
        """The states that load, as far as metas and the lengths of table files tell.

        Raises:
            StorageFailure: the file system refused.
        """
        if self._loadable is None:
            good: set[VersionRef] = set()
            for ref in self.files.refs:
                if self._sound_handle(ref) is not None or self._continues(ref, good):
                    good.add(ref)
            self._loadable = frozenset(good)
        return self._loadable

    def loadable_versions(self) -> list[int]:
        """The versions of :meth:`loadable`, in order."""
        return sorted({ref.version for ref in self.loadable()})

    def resolve(self, version: int, uids: Iterable[str] | None = None) -> Chain:
        """The files to load for a version; with ``uids`` only one of those attempts (checkpoint format 2).

        Raises:
            StateNotFound: no file has this version.
            CheckpointDamaged: there are files, and none of the attempts loads.
            StorageFailure: the file system refused.
        """
        allowed = None if uids is None else set(uids)
        candidates = [ref for ref in self.files.candidates(version) if allowed is None or ref.uid in allowed]
        if not candidates:
            raise self._not_found(version)
        failures: list[SnaplineError] = []
        for ref in candidates:
            try:
                return self._chain(ref)
            except StorageFailure:
                raise
            except SnaplineError as e:
                failures.append(e)
        newest = [older for older in self.loadable_versions() if older < version]
        raise CheckpointDamaged(
            f"version {version} of {self.key} does not load: {' '.join(failure.found for failure in failures)}",
            f"use version {newest[-1]}, the newest before it that loads."
            if newest
            else "restore the folder from a backup: no older version of this store loads.",
        )

    def _chain(self, ref: VersionRef) -> Chain:
        line: list[ChangelogMeta] = []
        at: VersionRef | None = ref
        while at is not None:
            handle = self._sound_handle(at)
            if handle is not None:
                return Chain(ref, handle, tuple(reversed(line)))
            meta = self.changelog_meta(at)
            if not _older(meta.parent, at):
                name = self.folder.path(self.file_name(at, Kind.CHANGELOG))
                raise damaged(name, "its parent is not older than itself")
            line.append(meta)
            at = meta.parent
        return Chain(ref, None, tuple(reversed(line)))

    def _continues(self, ref: VersionRef, good: set[VersionRef]) -> bool:
        try:
            parent = self.changelog_meta(ref).parent
        except StorageFailure:
            raise
        except SnaplineError:
            return False
        return _older(parent, ref) and (parent is None or parent in good)

    def _sound_handle(self, ref: VersionRef) -> HandleMeta | None:
        if ref not in self.files.snapshots:
            return None
        try:
            meta = self.handle_meta(ref)
        except StorageFailure:
            raise
        except SnaplineError:
            return None
        for table in meta.files:
            stored = self.files.tables.get(table.uid)
            if stored is None or stored.size != table.length or table.uid in self._bad_tables:
                return None
        return meta

    def _read_changelog_meta(self, ref: VersionRef) -> ChangelogMeta:
        with self.folder.open(self.file_name(ref, Kind.CHANGELOG)) as source:
            return ChangelogReader(source, ref).meta

    def _read_handle_meta(self, ref: VersionRef) -> HandleMeta:
        with self.open_handle(ref) as source:
            return HandleReader(source, ref).meta

    def _not_found(self, version: int) -> StateNotFound:
        versions = sorted({ref.version for ref in self.files.refs})
        there = f"its versions go from {versions[0]} to {versions[-1]}" if versions else "it has no version at all"
        return StateNotFound(
            f"{self.key} has no version {version}; {there}.",
            "ask for a version that `snapline checkpoints list` shows.",
        )


def _older(parent: VersionRef | None, ref: VersionRef) -> bool:
    return parent is None or parent.version < ref.version
