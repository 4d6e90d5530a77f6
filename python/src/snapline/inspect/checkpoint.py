"""A checkpoint folder of a query: Spark's part and the stores below state/."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from snapline.errors import CheckpointDamaged, NotACheckpoint, SnaplineError, StateNotFound
from snapline.inspect.files import Folder
from snapline.inspect.listed_files import ListedFiles
from snapline.inspect.merged_files import MergedFiles
from snapline.inspect.numbered import NumberedCheckpoints
from snapline.inspect.spark_log import CheckpointIds, SparkLog
from snapline.inspect.store import Store
from snapline.inspect.store_files import DEFAULT_STORE, StoreFiles, StoreKey, group_files

PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"
_SPARKS_PARTS = ("metadata", "offsets/", "commits/", "state/", "sources/")
_READERS = 16

T = TypeVar("T")


@dataclass(frozen=True)
class Operator:
    """A stateful operator. ``name`` and ``expected`` (its stores as Spark recorded them) are empty if Spark left no
    metadata; ``stores`` are those that have files."""

    id: int
    name: str
    expected: tuple[StoreKey, ...]
    stores: tuple[Store, ...]

    @property
    def missing(self) -> list[StoreKey]:
        """Stores that Spark recorded and that have no file."""
        there = {store.key for store in self.stores}
        return [key for key in self.expected if key not in there]


class CheckpointFolder:
    """Opened once, by one listing of everything below the path; what is written later is not seen.

    Raises:
        NotACheckpoint: the folder holds something else, or state of Spark's own providers only.
        StorageFailure: the file system refused.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = Folder(path)
        files = self.folder.list_files()
        if files is None:
            raise NotACheckpoint(f"{self.location} does not exist.", "give the checkpointLocation of a query.")
        if not any(file.name == part or file.name.startswith(part) for file in files for part in _SPARKS_PARTS):
            raise NotACheckpoint(
                f"{self.location} has {len(files)} files, but neither metadata nor offsets/, commits/ or state/.",
                "give the checkpointLocation of a query: the folder that holds them.",
            )
        self.problems: list[SnaplineError] = []
        self.log = SparkLog(self.folder, files)
        self.query_id = self._tolerate(self.log.read_query_id, None)
        self.conf: Mapping[str, str] = self._tolerate(self.log.read_conf, {})
        self._ids: dict[int, CheckpointIds | None] = {}
        self.numbered = NumberedCheckpoints(ListedFiles(self.folder, files))
        self.merged = MergedFiles(self.folder, files)
        stores = group_files(files, self.merged.members())
        self.foreign = [file for store in stores.values() for file in store.foreign]
        if self.foreign and not any(store.is_own for store in stores.values()):
            raise self._of_another_provider()
        self.operators = self._operators(stores)

    @property
    def location(self) -> str:
        """The path as it was given."""
        return self.folder.location

    @property
    def stores(self) -> list[Store]:
        """All stores that have files, in order."""
        return [store for operator in self.operators for store in operator.stores]

    def operator(self, number: int) -> Operator:
        """
        Raises:
            StateNotFound: there is none of that number.
        """
        for operator in self.operators:
            if operator.id == number:
                return operator
        there = ", ".join(str(operator.id) for operator in self.operators) or "none"
        raise StateNotFound(f"no operator {number} in {self.location}; there is {there}.", "ask for one of those.")

    def store(self, operator: int, partition: int, name: str = DEFAULT_STORE) -> Store:
        """
        Raises:
            StateNotFound: there is no such store.
        """
        key = StoreKey(operator, partition, name)
        stores = self.operator(operator).stores
        for store in stores:
            if store.key == key:
                return store
        there = ", ".join(sorted({store.key.store for store in stores}))
        raise StateNotFound(
            f"{key} has no files in {self.location}; operator {operator} has {len(stores)} stores ({there}).",
            "ask for a partition and a store that `snapline checkpoints describe` shows.",
        )

    def read_metas(self, progress: Callable[[], None] = lambda: None) -> None:
        """Reads all metas now, many at a time: what a distant file system is slow at one by one.

        Raises:
            StorageFailure: the file system refused.
        """

        def read(store: Store) -> None:
            store.loadable()
            progress()

        with ThreadPoolExecutor(_READERS) as pool:
            for _ in pool.map(read, self.stores):
                pass

    def uids(self, version: int) -> Mapping[StoreKey, list[str]]:
        """In checkpoint format 2, the attempts that the commit log names for a version, by store; else empty."""
        if version not in self._ids:
            self._ids[version] = self._tolerate(lambda: self.log.read_checkpoint_ids(version - 1), None)
        ids = self._ids[version] or {}
        return {
            store.key: ids[store.key.operator][store.key.partition]
            for store in self.stores
            if store.key.partition < len(ids.get(store.key.operator, ()))
        }

    def store_loads(self, store: Store, version: int) -> bool:
        """Whether one store loads this version: the attempt the commit log names in format 2, else any."""
        uids = self.uids(version).get(store.key)
        return any(ref.version == version and (uids is None or ref.uid in uids) for ref in store.loadable())

    def loads(self, version: int) -> bool:
        """Whether the query can go on from this version: no store is missing, and every one loads it."""
        return not any(operator.missing for operator in self.operators) and all(
            self.store_loads(store, version) for store in self.stores
        )

    @property
    def newest(self) -> int | None:
        """The version the query would go on from: that of its last commit. None before the first."""
        return self.log.commits[-1] + 1 if self.log.commits else None

    def newest_loadable(self) -> int | None:
        """The newest version from which the query can go on: every store loads it. None: there is none."""
        if not self.stores:
            return None
        common = set.intersection(*(set(store.loadable_versions()) for store in self.stores))
        newest = max(common, default=0) if self.newest is None else self.newest
        return next((v for v in sorted(common, reverse=True) if v <= newest and self.loads(v)), None)

    def _operators(self, stores: Mapping[StoreKey, StoreFiles]) -> list[Operator]:
        own = [files for _, files in sorted(stores.items()) if files.is_own]
        numbers = sorted({files.key.operator for files in own} | set(self.log.operators))
        return [self._operator(number, [files for files in own if files.key.operator == number]) for number in numbers]

    def _operator(self, number: int, files: list[StoreFiles]) -> Operator:
        info = self._tolerate(lambda: self.log.read_operator(number), None)
        expected = [
            StoreKey(number, partition, store.name)
            for store in (info.stores if info else ())
            for partition in range(store.partitions)
        ]
        name = info.name if info else ""
        return Operator(number, name, tuple(sorted(expected)), tuple(Store(self.folder, each) for each in files))

    def _of_another_provider(self) -> NotACheckpoint:
        provider = self.conf.get(PROVIDER_KEY, "one of Spark's own providers")
        return NotACheckpoint(
            f"{self.folder.path(self.foreign[0].name)} and {len(self.foreign) - 1} more files are of {provider}.",
            "keep using that provider for this checkpoint, or start the query with a new checkpoint folder.",
        )

    def _tolerate(self, read: Callable[[], T], otherwise: T) -> T:
        """What Spark wrote helps and is not needed: damage there is noted, and the rest can still be looked at."""
        try:
            return read()
        except CheckpointDamaged as e:
            self.problems.append(e)
            return otherwise
