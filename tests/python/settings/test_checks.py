from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from snapline import StateBackendConfig
from snapline.errors import InvalidConfiguration
from snapline.query import CheckpointConfig
from snapline.settings.checks import check_settings


def test_only_what_is_set_becomes_a_setting() -> None:
    assert StateBackendConfig().to_conf() == {}
    assert StateBackendConfig(
        memory_per_executor=1 << 28, row_table_memory_fraction=0, max_parallelism=1
    ).to_conf() == {
        "spark.snapline.state.backend.rocksdb.memory.fixed-per-executor": "268435456",
        "spark.snapline.state.backend.row-table.memory-fraction": "0",
        "spark.snapline.max-parallelism": "1",
    }


@pytest.mark.parametrize(
    "good",
    [
        {"memory_per_executor": "8m"},
        {"memory_per_executor": "1 GB"},
        {"memory_per_executor": "8388608"},
        {"row_table_memory_fraction": 0.8},
        {"compression": "zstd"},
        {"changelog_compression": "none"},
        {"max_parallelism": 65_535},
        {"snapshot_threads": 64},
    ],
)
def test_what_is_in_range_is_taken(good: dict[str, Any]) -> None:
    assert len(StateBackendConfig(**good).to_conf()) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"memory_per_executor": "7m"},
        {"memory_per_executor": -1},
        {"memory_per_executor": "lots"},
        {"memory_per_executor": "1t"},
        {"row_table_memory_fraction": 0.81},
        {"row_table_memory_fraction": -0.1},
        {"row_table_memory_fraction": float("nan")},
        {"compression": "snappy"},
        {"changelog_compression": "zstd"},
        {"max_parallelism": 0},
        {"max_parallelism": 65_536},
        {"max_parallelism": 1.5},
        {"snapshot_threads": 65},
        {"snapshot_threads": True},
    ],
)
def test_what_is_not_is_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidConfiguration, match=r"^\[SNAPLINE-CONFIG\].* spark\.snapline\.\S+ is '.*'.* Do: set it to"
    ):
        StateBackendConfig(**bad)


def test_unknown_names_are_refused_and_others_let_be() -> None:
    check_settings({"spark.sql.shuffle.partitions": "x", "spark.snapline.snapshot.threads": " 3 "})
    with pytest.raises(InvalidConfiguration, match=r"snapshot\.thread is no setting"):
        check_settings({"spark.snapline.snapshot.thread": "3"})


CHECKPOINTING = "spark.snapline.execution.checkpointing."


def test_settings_of_checkpoints_are_those_of_checkpoint_config() -> None:
    config = CheckpointConfig(interval=timedelta(seconds=10), min_pause=timedelta(seconds=1), num_retained=3)
    check_settings({**config.to_conf(), "spark.snapline.snapshot.threads": "3"})


@pytest.mark.parametrize(
    "bad",
    [
        {"interval": "9 ms"},
        {"interval": "soon"},
        {"mode": "AT_LEAST_ONCE"},
        {"num-retained": "0"},
        {"min-pause": "1 s", "max-concurrent-checkpoints": "2"},
        {"unaligned.enable": "true"},
        {"unaligned.at-limit": "wait"},
    ],
)
def test_settings_of_checkpoints_that_do_not_fit_are_refused_by_name(bad: dict[str, str]) -> None:
    with pytest.raises(InvalidConfiguration, match=re.escape(CHECKPOINTING + next(iter(bad)))):
        check_settings({CHECKPOINTING + name: value for name, value in bad.items()})


TAB = "spark.snapline.ui."


def test_settings_of_the_tab() -> None:
    good = {"enabled": "false", "retained-checkpoints": "1000000", "retained-details": "0"}
    check_settings({TAB + name: value for name, value in good.items()})
    for name, value in {"enabled": "yes", "retained-queries": "0", "retained-checkpoints": "many"}.items():
        with pytest.raises(InvalidConfiguration, match=re.escape(TAB + name)):
            check_settings({TAB + name: value})
