from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from snapline import (
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    StateBackendConfig,
)
from snapline.errors import InvalidConfiguration
from snapline.query import CheckpointConfig
from snapline.settings.backends import backend_settings
from snapline.settings.checks import check_settings

TYPE = "spark.snapline.state.backend.type"
ASYNC = "spark.snapline.state.backend.hashmap.async-snapshots"
LIMIT = "spark.snapline.state.backend.hashmap.memory-limit"
STORAGE = "spark.snapline.execution.checkpointing.storage"
SIZE = "spark.snapline.execution.checkpointing.storage.max-state-size"
INCREMENTAL = "spark.snapline.execution.checkpointing.incremental"


@pytest.mark.parametrize(
    ("given", "conf"),
    [
        (HashMapStateBackend(), {TYPE: "hashmap", ASYNC: "true"}),
        (HashMapStateBackend(False, "2g"), {TYPE: "hashmap", ASYNC: "false", LIMIT: "2g"}),
        (EmbeddedRocksDBStateBackend(), {TYPE: "rocksdb", INCREMENTAL: "true"}),
        (EmbeddedRocksDBStateBackend(incremental=False), {TYPE: "rocksdb", INCREMENTAL: "false"}),
        (JobManagerCheckpointStorage(), {STORAGE: "memory", SIZE: "5m"}),
        (JobManagerCheckpointStorage(max_state_size=1 << 20), {STORAGE: "memory", SIZE: "1048576"}),
        (FileSystemCheckpointStorage(), {STORAGE: "filesystem"}),
        (
            FileSystemCheckpointStorage("s3a://b/c"),
            {STORAGE: "filesystem", "spark.sql.streaming.checkpointLocation": "s3a://b/c"},
        ),
        (
            StateBackendConfig(max_parallelism=8, backend=HashMapStateBackend()),
            {TYPE: "hashmap", ASYNC: "true", "spark.snapline.max-parallelism": "8"},
        ),
    ],
)
def test_each_is_settings_of_spark(given: Any, conf: dict[str, str]) -> None:
    assert given.to_conf() == conf
    check_settings(conf)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: HashMapStateBackend(cast("Any", "yes")), ASYNC),
        (lambda: HashMapStateBackend(memory_limit="100k"), LIMIT),
        (lambda: HashMapStateBackend(memory_limit=-1), LIMIT),
        (lambda: EmbeddedRocksDBStateBackend(cast("Any", 1)), INCREMENTAL),
        (lambda: JobManagerCheckpointStorage("2g"), SIZE),
        (lambda: JobManagerCheckpointStorage(0), SIZE),
        (lambda: backend_settings(EmbeddedRocksDBStateBackend(), JobManagerCheckpointStorage()), "driver's memory"),
        (
            lambda: backend_settings(
                StateBackendConfig(backend=EmbeddedRocksDBStateBackend()), JobManagerCheckpointStorage()
            ),
            "driver's memory",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(make: Callable[[], Any], named: str) -> None:
    with pytest.raises(InvalidConfiguration, match=named):
        make()


@pytest.mark.parametrize("name", ["MemoryStateBackend", "FsStateBackend", "RocksDBStateBackend", "HashMap"])
def test_flinks_names_are_known(name: str) -> None:
    check_settings({TYPE: name})


@pytest.mark.parametrize(("name", "value"), [(TYPE, "heap"), (STORAGE, "s3"), (INCREMENTAL, "1"), (STORAGE + "s", "x")])
def test_other_names_are_not(name: str, value: str) -> None:
    with pytest.raises(InvalidConfiguration, match=name):
        check_settings({name: value})


def test_settings_of_storage_are_none_of_checkpoints() -> None:
    assert CheckpointConfig.from_conf({STORAGE: "memory", SIZE: "1m"}) == CheckpointConfig()
