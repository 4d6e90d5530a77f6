"""The rows of one version of a store, without a JVM."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from snapline.errors import StateNotFound
from snapline.format import ChangelogReader, Family, Kind
from snapline.inspect.heap import HeapSnapshot
from snapline.inspect.overlay import Overlay
from snapline.inspect.overlay import Row as KeyValue
from snapline.inspect.rocks import RocksSnapshot
from snapline.inspect.snapshot_files import materialise
from snapline.inspect.store import Chain, Store


class Row(NamedTuple):
    """One row as the backend holds it; docs/FORMAT.md, section 5, says what key and value are made of."""

    family: str
    key: bytes
    value: bytes


@contextmanager
def open_store(store: Store, version: int, uids: Iterable[str] | None = None) -> Iterator[StoreContents]:
    """Opens a version for reading, in a temporary folder that is gone after the block.

    Raises:
        StateNotFound: no file has this version.
        CheckpointDamaged: it does not load.
        StorageFailure: the file system refused.
    """
    chain = store.resolve(version, uids)
    with ExitStack() as stack:
        snapshot: RocksSnapshot | HeapSnapshot | None = None
        if chain.handle is not None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="snapline-")))
            materialise(store, chain.handle, folder)
            if chain.handle.backend == "hashmap":
                snapshot = stack.enter_context(HeapSnapshot(folder, chain.handle))
            else:
                snapshot = stack.enter_context(RocksSnapshot(folder))
        yield StoreContents(chain, snapshot, _overlays(store, chain))


class StoreContents:
    """The content of a store at one version. Valid until the end of :func:`open_store`'s block."""

    def __init__(
        self, chain: Chain, snapshot: RocksSnapshot | HeapSnapshot | None, overlays: dict[int, Overlay]
    ) -> None:
        self.chain = chain
        self._snapshot = snapshot
        self._overlays = overlays

    @property
    def families(self) -> tuple[Family, ...]:
        """In the order of their numbers."""
        return self.chain.families

    def rows(self, family: str | None = None) -> Iterator[Row]:
        """All rows, or those of one family; within a family in the order of their keys.

        Raises:
            StateNotFound: there is no such family.
        """
        wanted = [each for each in self.families if family in (None, each.name)]
        if family is not None and not wanted:
            there = ", ".join(each.name for each in self.families) or "none"
            raise StateNotFound(f"no family {family} in {self.chain.ref}; there is {there}.", "ask for one of those.")
        for each in wanted:
            overlay = self._overlays.get(each.id, Overlay())
            for key, value in overlay.over(self._rows_below(each)):
                yield Row(each.name, key, value)

    def _rows_below(self, family: Family) -> Iterable[KeyValue]:
        """Those of the snapshot. A family of the same name and another number was removed and made anew since."""
        handle = self.chain.handle
        if self._snapshot is None or handle is None or family.id not in {each.id for each in handle.families}:
            return ()
        return self._snapshot.rows(family.name)


def _overlays(store: Store, chain: Chain) -> dict[int, Overlay]:
    overlays: dict[int, Overlay] = {}
    for meta in chain.changelogs:
        with store.folder.open(store.file_name(meta.ref, Kind.CHANGELOG)) as source:
            for entry in ChangelogReader(source, meta.ref).read_entries():
                overlays.setdefault(entry.family, Overlay()).apply(entry)
    return overlays
