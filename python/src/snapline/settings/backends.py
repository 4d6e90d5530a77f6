"""State backends and checkpoint storages, by Flink's names."""

from __future__ import annotations

from dataclasses import dataclass

from snapline.errors import InvalidConfiguration
from snapline.settings.checks import check_settings
from snapline.settings.names import (
    CHANGELOG,
    CHANGELOG_COMPRESSION,
    COMPRESSION,
    HASHMAP_ASYNC,
    HASHMAP_LIMIT,
    INCREMENTAL,
    MAX_PARALLELISM,
    MAX_STATE_SIZE,
    MEMORY,
    ROW_TABLE_FRACTION,
    SNAPSHOT_THREADS,
    STATE_BACKEND,
    STORAGE,
)

CHECKPOINT_LOCATION = "spark.sql.streaming.checkpointLocation"


@dataclass(frozen=True)
class HashMapStateBackend:
    """Working state as objects on the executors' heap.

    Attributes:
        async_snapshots: a snapshot is written while the next batches run. False: the maps are smaller, and a task waits
            until its snapshot is written.
        memory_limit: what all such state of an executor may take of its heap, as bytes or text like ``"2g"``; past it a
            task fails with ``SNAPLINE-TOO-LARGE``. None: no limit.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    async_snapshots: bool = True
    memory_limit: int | str | None = None

    def __post_init__(self) -> None:
        check_settings(self.to_conf())

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark."""
        conf = {STATE_BACKEND: "hashmap", HASHMAP_ASYNC: _flag(HASHMAP_ASYNC, self.async_snapshots)}
        return conf if self.memory_limit is None else {**conf, HASHMAP_LIMIT: str(self.memory_limit)}


@dataclass(frozen=True)
class EmbeddedRocksDBStateBackend:
    """Working state in RocksDB, for state that is larger than memory.

    Attributes:
        incremental: a snapshot uploads only table files that an earlier one has not. Unlike Flink's, the default is to.
            It counts for every backend of the session or query.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    incremental: bool = True

    def __post_init__(self) -> None:
        check_settings(self.to_conf())

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark."""
        return {STATE_BACKEND: "rocksdb", INCREMENTAL: _flag(INCREMENTAL, self.incremental)}


@dataclass(frozen=True)
class JobManagerCheckpointStorage:
    """State is kept in the driver's memory, and ends with it: for trying things out, and for small state that may go.

    Only for :class:`HashMapStateBackend`. Such a query has no numbered checkpoints.

    Attributes:
        max_state_size: what one state may hold in one partition, as bytes or text like ``"5m"``; a larger one fails the
            batch with an error that names it.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    max_state_size: int | str = "5m"

    def __post_init__(self) -> None:
        check_settings(self.to_conf())

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark."""
        return {STORAGE: "memory", MAX_STATE_SIZE: str(self.max_state_size)}


@dataclass(frozen=True)
class FileSystemCheckpointStorage:
    """State is kept in files of the query's checkpoint folder. The default.

    Attributes:
        path: where queries have their folders that name none with ``checkpointLocation``. None: as the session has it.
    """

    path: str | None = None

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark."""
        conf = {STORAGE: "filesystem"}
        return conf if self.path is None else {**conf, CHECKPOINT_LOCATION: str(self.path)}


StateBackend = HashMapStateBackend | EmbeddedRocksDBStateBackend
CheckpointStorage = JobManagerCheckpointStorage | FileSystemCheckpointStorage


@dataclass(frozen=True, kw_only=True)
class StateBackendConfig:
    """None leaves a setting as it is, which is the default unless something else sets it.

    Attributes:
        memory_per_executor: memory of RocksDB, for all stores of an executor; bytes, or text like ``"256m"``. 8m to
            1024g, default 128m.
        row_table_memory_fraction: share of the executor's heap for rows that changed or were read lately, for all
            stores of an executor. 0 to 0.8, default 0.2.
        compression: the compression of table files: ``lz4`` (default), ``zstd`` or ``none``.
        changelog: whether a version's changes are written beside the snapshots. Without, each version that has to be
            durable is a whole snapshot: fewer files to read at a restart, and a commit that waits for it. Default True.
        changelog_compression: ``lz4`` (default) or ``none``.
        max_parallelism: number of key groups, the most partitions a query can ever be rescaled to. 1 to 65,535, default
            57,600. Fixed with the first batch of a query.
        snapshot_threads: threads that upload snapshots, for all stores of an executor. 1 to 64, default 2.
        backend: where working state is: ``HashMapStateBackend`` or ``EmbeddedRocksDBStateBackend``.

    Raises:
        InvalidConfiguration: a value is out of its range.
    """

    memory_per_executor: int | str | None = None
    row_table_memory_fraction: float | None = None
    compression: str | None = None
    changelog: bool | None = None
    changelog_compression: str | None = None
    max_parallelism: int | None = None
    snapshot_threads: int | None = None
    backend: StateBackend | None = None

    def __post_init__(self) -> None:
        check_settings(self.to_conf())

    def to_conf(self) -> dict[str, str]:
        """As settings of Spark; only what is set."""
        values = {
            MEMORY: self.memory_per_executor,
            ROW_TABLE_FRACTION: self.row_table_memory_fraction,
            COMPRESSION: self.compression,
            CHANGELOG: self.changelog if self.changelog is None else str(self.changelog).lower(),
            CHANGELOG_COMPRESSION: self.changelog_compression,
            MAX_PARALLELISM: self.max_parallelism,
            SNAPSHOT_THREADS: self.snapshot_threads,
        }
        conf = {name: str(value) for name, value in values.items() if value is not None}
        return conf if self.backend is None else {**conf, **self.backend.to_conf()}


def backend_settings(
    backend: StateBackend | StateBackendConfig | None, storage: CheckpointStorage | None
) -> dict[str, str]:
    """As settings of Spark; only what is given.

    Raises:
        InvalidConfiguration: the two do not go together.
    """
    conf = {**(backend.to_conf() if backend else {}), **(storage.to_conf() if storage else {})}
    if conf.get(STATE_BACKEND) == "rocksdb" and conf.get(STORAGE) == "memory":
        raise InvalidConfiguration(
            "JobManagerCheckpointStorage is given with EmbeddedRocksDBStateBackend, whose files are larger than a "
            "driver's memory should hold.",
            "use HashMapStateBackend, or FileSystemCheckpointStorage.",
        )
    return conf


def _flag(name: str, value: bool) -> str:
    if type(value) is not bool:
        raise InvalidConfiguration(f"{name} is {value!r}.", "set it to True or False.")
    return str(value).lower()
