"""Reads every byte of one store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from snapline.errors import SnaplineError, StateNotFound
from snapline.format import ChangelogReader, HandleMeta, HandleReader, Kind, TableFile, VersionRef
from snapline.inspect.files import StoredFile
from snapline.inspect.snapshot_files import check_table
from snapline.inspect.store import Store

T = TypeVar("T")


class StoreCheck:
    """A file that fails is noted in ``failures``, by path, and counts as missing in the store.

    ``unnamed`` counts table files that no handle names: they have no checksum anywhere, and belong to an upload that is
    under way or was aborted.
    """

    def __init__(self, store: Store, progress: Callable[[StoredFile], None]) -> None:
        self.store = store
        self.failures: list[tuple[str, SnaplineError]] = []
        self.unnamed = 0
        self._progress = progress

    def run(self) -> None:
        """Reads all files; called once."""
        files = self.store.files
        for ref, file in sorted(files.changelogs.items()):
            self._check(file, partial(self._read_changelog, ref))
        named: dict[str, TableFile] = {}
        for ref, file in sorted(files.handles.items()):
            meta = self._check(file, partial(self._read_handle, ref))
            if meta is not None:
                named |= {table.uid: table for table in meta.files}
                self._note_missing(file, meta)
        for ref in sorted(files.members.keys() - files.handles.keys()):
            named |= {table.uid: table for table in self._check_member(ref)}
        for uid, file in sorted(files.tables.items()):
            if uid in named:
                self._check(file, partial(self._read_table, file, named[uid]))
            else:
                self.unnamed += 1
                self._progress(file)

    def _check_member(self, ref: VersionRef) -> tuple[TableFile, ...]:
        """Checks a handle in a merged file; the file itself is checked as a whole elsewhere."""
        name, _ = self.store.files.members[ref]
        try:
            meta = self._read_handle(ref)
        except StateNotFound as e:
            self.store.set_aside_handle(ref, e)
            return ()
        except SnaplineError as e:
            self.failures.append((name, e))
            self.store.set_aside_handle(ref, e)
            return ()
        lost = [table for table in meta.files if not self._exists(self._table_name(table), table.uid)]
        if lost and self._exists(name):
            found = f"{name} has a handle of {self.store.key} that names {lost[0].stored_name}, which is not there."
            self.failures.append((name, StateNotFound(found, "restore it from a backup.")))
        return meta.files

    def _check(self, file: StoredFile, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except StateNotFound as e:
            # Cleaned up since it was listed; whether anything needed it shows in what loads.
            self.store.set_aside(file, e)
            return None
        except SnaplineError as e:
            self._fail(file, e)
            return None
        finally:
            self._progress(file)

    def _fail(self, file: StoredFile, error: SnaplineError) -> None:
        self.failures.append((file.name, error))
        self.store.set_aside(file, error)

    def _note_missing(self, file: StoredFile, meta: HandleMeta) -> None:
        for table in meta.files:
            if not self._exists(self._table_name(table), table.uid):
                # Clean-up of a query that runs removes handles before their table files.
                if not self._exists(file.name):
                    self.store.set_aside(file, StateNotFound(f"{file.name} is gone.", "look again."))
                    return
                found = f"{self.store.folder.path(file.name)} names {table.stored_name}, which is not there."
                self._fail(file, StateNotFound(found, "restore it from a backup."))

    def _table_name(self, table: TableFile) -> str:
        return f"{self.store.files.folder}/{table.stored_name}"

    def _exists(self, name: str, uid: str | None = None) -> bool:
        """Looks again for what is not in the list, which may be older than the handle."""
        if uid in self.store.files.tables:
            return True
        try:
            with self.store.folder.open(name):
                return True
        except StateNotFound:
            return False

    def _read_changelog(self, ref: VersionRef) -> None:
        with self.store.folder.open(self.store.file_name(ref, Kind.CHANGELOG)) as source:
            ChangelogReader(source, ref).check_blocks()

    def _read_handle(self, ref: VersionRef) -> HandleMeta:
        with self.store.open_handle(ref) as source:
            reader = HandleReader(source, ref)
            reader.read_local_files()
            return reader.meta

    def _read_table(self, file: StoredFile, table: TableFile) -> None:
        with self.store.folder.open(file.name) as source:
            check_table(source, table)
