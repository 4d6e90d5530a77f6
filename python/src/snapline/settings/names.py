"""Names of the settings in Spark's configuration. The jar knows the same names and limits."""

from __future__ import annotations

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
