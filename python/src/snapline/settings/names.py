"""Names of settings in Spark's configuration; `table.json` has all of them."""

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
# The settings of checkpoints, which are the fields of CheckpointConfig.
CHECKPOINTING = PREFIX + "execution.checkpointing."
# The state backend's, with the same prefix.
INCREMENTAL = CHECKPOINTING + "incremental"
STORAGE = CHECKPOINTING + "storage"
MAX_STATE_SIZE = CHECKPOINTING + "storage.max-state-size"
STORAGE_SETTINGS = (INCREMENTAL, STORAGE, MAX_STATE_SIZE)
