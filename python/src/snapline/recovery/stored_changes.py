"""Changelogs of an interval that were copied to the checkpoint folder (docs/notes/022-changelogs-in-storage.md)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from snapline.errors import CheckpointDamaged, StateNotFound
from snapline.folder.files import Files, FileSource, side_by_side
from snapline.folder.logs import COMMITS, Log
from snapline.folder.metadata import CheckpointMetadata
from snapline.format import ChangelogReader, Kind, VersionRef
from snapline.format.frame import damaged
from snapline.format.names import parse_name

_log = logging.getLogger(__name__)


class _Store(NamedTuple):
    """A store of a checkpoint, and where its files are."""

    operator: int
    partition: int
    folder: str
    ref: VersionRef


class StoredChanges:
    """The changelogs that an executor copied behind the batches after a checkpoint.

    Each store copies in the order of its versions, and none after one that it could not copy. So a changelog that is
    whole says that all before it are there, down to the checkpoint.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._commits = Log(files, COMMITS)

    def newest_batch(self, checkpoint: CheckpointMetadata) -> int:
        """The newest committed batch whose state loads without a replay; that of the checkpoint, if there is none.

        Raises:
            StorageFailure: the file system refused.
        """
        stores = list(_stores(checkpoint))
        committed = self._commits.newest()
        # One store says whether there are any: a query that copies none is not listed whole.
        if not stores or committed is None or not self._later(stores[0]):
            return checkpoint.batch
        there = self._all_later(stores)
        # A snapshot that holds later batches (AT_LEAST_ONCE) is of no use for an earlier one.
        for batch in range(committed, checkpoint.newest_batch, -1):
            if self._is_whole(batch, stores, there):
                return batch
        return checkpoint.batch

    def reaches(self, checkpoint: CheckpointMetadata, batch: int) -> bool:
        """Whether the state of this batch, which is committed, loads without a replay."""
        stores = list(_stores(checkpoint))
        return bool(stores) and self._is_whole(batch, stores, self._all_later(stores))

    def discard(self, checkpoint: CheckpointMetadata) -> None:
        """Removes them, for one does not load: batches after the checkpoint are replayed from now on."""
        _log.warning("Changelogs after checkpoint %d do not load: their batches are replayed.", checkpoint.id)
        stores = list(_stores(checkpoint))
        there = self._all_later(stores)
        side_by_side(self._files.delete, [_name(store, ref) for store in stores for ref in there[store.folder]])

    def _is_whole(self, batch: int, stores: list[_Store], there: dict[str, set[VersionRef]]) -> bool:
        try:
            ids = self._commits.read(batch).state_ids
        except (StateNotFound, CheckpointDamaged):
            return False
        newest = []
        for store in stores:
            made = _made(ids, store)
            attempts = (ref for ref in there[store.folder] if ref.version == batch + 1)
            # Where nothing says which one counted, a store loads the latest.
            ref = max((ref for ref in attempts if made is None or ref.uid in made), default=None)
            if ref is None:
                return False
            newest.append((store, ref))
        try:
            side_by_side(self._check, newest)
        except (StateNotFound, CheckpointDamaged):
            return False
        return True

    def _check(self, one: tuple[_Store, VersionRef]) -> None:
        """Not its blocks: whoever loads it does that.

        Raises:
            CheckpointDamaged: its end is not there, or it goes on from another attempt than the checkpoint's.
        """
        store, ref = one
        name = _name(store, ref)
        base = ChangelogReader(FileSource(self._files, name), ref).meta.snapshot
        if base is not None and base.version == store.ref.version and base != store.ref:
            raise damaged(name, f"it goes on from {base}, and the checkpoint has {store.ref}")

    def _all_later(self, stores: list[_Store]) -> dict[str, set[VersionRef]]:
        """By the folder of the store."""
        there: dict[str, set[VersionRef]] = {}
        side_by_side(lambda store: there.update({store.folder: self._later(store)}), stores)
        return there

    def _later(self, store: _Store) -> set[VersionRef]:
        parsed = map(parse_name, self._files.list(store.folder))
        found = {entry[0] for entry in parsed if entry is not None and entry[1] is Kind.CHANGELOG}
        return {ref for ref in found if ref.version > store.ref.version}


def _stores(checkpoint: CheckpointMetadata) -> Iterator[_Store]:
    for operator, store, handle in checkpoint.handles():
        yield _Store(operator.id, handle.partition, store.folder(operator.id, handle.partition), handle.ref)


def _name(store: _Store, ref: VersionRef) -> str:
    return f"{store.folder}/{ref.file_name(Kind.CHANGELOG)}"


def _made(ids: Any, store: _Store) -> set[str] | None:
    """The states that a commit names of one partition of an operator, of all its stores.

    None: the commit is of checkpoint format 1, and names none of any operator.
    """
    if ids is None:
        return None
    try:
        return set(ids[str(store.operator)][store.partition])
    except (KeyError, IndexError, TypeError):
        return set()
