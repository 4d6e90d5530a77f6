"""Settings of the state backend, checked before Spark starts. The jar knows the same names and limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from snapline.errors import InvalidConfiguration
from snapline.sizes import format_size, parse_size

if TYPE_CHECKING:
    from snapline.backend import StateBackend

PREFIX = "spark.snapline."
MEMORY = PREFIX + "state.backend.rocksdb.memory.fixed-per-executor"
ROW_TABLE_FRACTION = PREFIX + "state.backend.row-table.memory-fraction"
COMPRESSION = PREFIX + "state.backend.compression"
CHANGELOG = PREFIX + "state.changelog.enabled"
CHANGELOG_COMPRESSION = PREFIX + "state.changelog.compression"
MAX_PARALLELISM = PREFIX + "max-parallelism"
SNAPSHOT_THREADS = PREFIX + "snapshot.threads"
STATE_BACKEND = PREFIX + "state.backend.type"
HASHMAP_ASYNC = PREFIX + "state.backend.hashmap.async-snapshots"
HASHMAP_LIMIT = PREFIX + "state.backend.hashmap.memory-limit"
# What lies below it are the settings of checkpoints, whose names and ranges are those of CheckpointConfig.
CHECKPOINTING = PREFIX + "execution.checkpointing."
# But for these, which are the state backend's.
INCREMENTAL = CHECKPOINTING + "incremental"
STORAGE = CHECKPOINTING + "storage"
MAX_STATE_SIZE = CHECKPOINTING + "storage.max-state-size"
STORAGE_SETTINGS = (INCREMENTAL, STORAGE, MAX_STATE_SIZE)

# Of the Checkpoints tab.
UI_ENABLED = PREFIX + "ui.enabled"
UI_RETAINED_QUERIES = PREFIX + "ui.retained-queries"
UI_RETAINED_CHECKPOINTS = PREFIX + "ui.retained-checkpoints"
UI_RETAINED_DETAILS = PREFIX + "ui.retained-details"

# Of the exchange between the keyed operator and its Python workers.
PYTHON_MAX_KEYS = PREFIX + "python.cache.max-keys"
PYTHON_MAX_BYTES = PREFIX + "python.cache.max-bytes"
PYTHON_CHUNK_ROWS = PREFIX + "python.chunk-rows"
PYTHON_ARROW_CHUNK_ROWS = PREFIX + "python.arrow.chunk-rows"
PYTHON_MAX_PREFETCH = PREFIX + "python.max-prefetch"

_MIN_MEMORY = 8 << 20
_MAX_SIZE = 1 << 40


@dataclass(frozen=True, kw_only=True)
class StateBackendConfig:
    """None leaves a setting as it is, which is the default unless something else sets it.

    Attributes:
        memory_per_executor: of RocksDB, for all stores of an executor; bytes, or text like ``"256m"``. 8m to
            1024g, default 128m.
        row_table_memory_fraction: share of the executor's heap for rows that changed or were read lately, for all
            stores of an executor. 0 to 0.8, default 0.2.
        compression: of table files: ``lz4`` (default), ``zstd`` or ``none``.
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


def check_settings(conf: Mapping[str, str]) -> None:
    """Checks what begins with ``spark.snapline.``.

    Raises:
        InvalidConfiguration: a name is unknown, or a value out of its range.
    """
    if any(name.startswith(CHECKPOINTING) for name in conf):
        # Needs pyarrow, without which configure() has to start, and complain.
        from snapline.query.config import CheckpointConfig

        CheckpointConfig.from_conf(conf)
    for name, value in conf.items():
        if not name.startswith(PREFIX) or (name.startswith(CHECKPOINTING) and name not in STORAGE_SETTINGS):
            continue
        rule = _RULES.get(name)
        if rule is None:
            raise InvalidConfiguration(
                f"{name} is no setting of Snapline.",
                f"use one of {', '.join(sorted(_RULES))}, or of those below {CHECKPOINTING}*.",
            )
        if not rule.allows(value.strip().lower()):
            raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to {rule.wanted}.")


class _Rule(NamedTuple):
    wanted: str
    allows: Callable[[str], bool]


def _size(least: int, most: int = _MAX_SIZE) -> _Rule:
    def is_size(text: str) -> bool:
        size = parse_size(text)
        return size is not None and least <= size <= most

    return _Rule(f"a size from {format_size(least)} to {format_size(most)}, such as 128m or 1g", is_size)


def _number(least: int, most: int) -> _Rule:
    return _Rule(
        f"a number from {least} to {most}",
        lambda text: re.fullmatch(r"\d{1,9}", text) is not None and least <= int(text) <= most,
    )


def _choice(*values: str) -> _Rule:
    return _Rule(f"one of {', '.join(values)}", lambda text: text in values)


def _is_fraction(text: str) -> bool:
    try:
        return 0 <= float(text) <= 0.8
    except ValueError:
        return False


_RULES = {
    MEMORY: _size(_MIN_MEMORY),
    ROW_TABLE_FRACTION: _Rule("a fraction from 0 to 0.8", _is_fraction),
    COMPRESSION: _choice("lz4", "zstd", "none"),
    CHANGELOG: _choice("true", "false"),
    CHANGELOG_COMPRESSION: _choice("lz4", "none"),
    MAX_PARALLELISM: _number(1, 65_535),
    SNAPSHOT_THREADS: _number(1, 64),
    UI_ENABLED: _choice("true", "false"),
    UI_RETAINED_QUERIES: _number(1, 10_000),
    UI_RETAINED_CHECKPOINTS: _number(1, 1_000_000),
    UI_RETAINED_DETAILS: _number(0, 100_000),
    STATE_BACKEND: _choice("rocksdb", "hashmap", "memorystatebackend", "fsstatebackend", "rocksdbstatebackend"),
    HASHMAP_ASYNC: _choice("true", "false"),
    HASHMAP_LIMIT: _size(1 << 20),
    INCREMENTAL: _choice("true", "false"),
    STORAGE: _choice("filesystem", "memory", "jobmanager"),
    MAX_STATE_SIZE: _size(1, 1 << 30),
    PYTHON_MAX_KEYS: _number(1, 100_000_000),
    PYTHON_MAX_BYTES: _size(1 << 20),
    PYTHON_CHUNK_ROWS: _number(1, 1_000_000),
    PYTHON_ARROW_CHUNK_ROWS: _number(1, 10_000_000),
    PYTHON_MAX_PREFETCH: _number(0, 1_000_000),
}
