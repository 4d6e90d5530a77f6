from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapline.errors import InvalidConfiguration
from snapline.query import CheckpointConfig, CheckpointingMode, ExternalizedCheckpointRetention
from snapline.settings.duration import format_duration, parse_duration

PREFIX = "spark.snapline.execution.checkpointing."


def test_defaults_are_flinks_but_for_the_retention() -> None:
    config = CheckpointConfig()
    assert not config.takes_checkpoints
    assert config.to_conf() == {
        PREFIX + "mode": "EXACTLY_ONCE",
        PREFIX + "timeout": "10 min",
        PREFIX + "min-pause": "0 ms",
        PREFIX + "max-concurrent-checkpoints": "1",
        PREFIX + "tolerable-failed-checkpoints": "0",
        PREFIX + "externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        PREFIX + "num-retained": "1",
        PREFIX + "data-inline-threshold": "20k",
        PREFIX + "local-backup.enabled": "true",
        PREFIX + "changelog-upload.enabled": "false",
        PREFIX + "file-merging.enabled": "false",
        PREFIX + "file-merging.max-file-size": "32m",
        PREFIX + "prefer-checkpoint-for-recovery": "false",
        PREFIX + "forced": "false",
        PREFIX + "unaligned.enabled": "false",
        PREFIX + "aligned-checkpoint-timeout": "1 s",
        PREFIX + "unaligned.max-channel-bytes": "256m",
        PREFIX + "unaligned.max-channel-rows": "10000000",
        PREFIX + "unaligned.max-batches-behind": "100",
        PREFIX + "unaligned.at-limit": "ALIGN",
    }
    stores = (
        "data-inline-threshold",
        "local-backup.enabled",
        "file-merging.enabled",
        "file-merging.max-file-size",
    )
    assert config.of_stores() == {PREFIX + name: config.to_conf()[PREFIX + name] for name in stores}


def test_all_that_is_set_becomes_a_setting_and_comes_back() -> None:
    config = CheckpointConfig(
        interval=timedelta(seconds=10),
        mode="exactly_once",
        timeout=timedelta(minutes=2),
        min_pause=timedelta(milliseconds=500),
        tolerable_failed_checkpoints=3,
        externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
        num_retained=5,
        incremental=False,
        data_inline_threshold="1 kb",
        local_backup=False,
        file_merging=True,
        file_merging_max_file_size=64 << 20,
        directory=Path("checkpoints"),
        prefer_checkpoint_for_recovery=True,
        forced=True,
        unaligned=True,
        aligned_checkpoint_timeout=timedelta(milliseconds=1500),
        max_channel_bytes="1g",
        max_channel_rows=7,
        max_batches_behind=8,
        at_channel_limit="fail",
    )
    assert (config.data_inline_threshold, config.directory) == (1024, "checkpoints")
    assert config.mode is CheckpointingMode.EXACTLY_ONCE
    assert config.externalized_checkpoint_retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    conf = config.to_conf()
    assert conf[PREFIX + "interval"] == "10 s"
    assert conf[PREFIX + "min-pause"] == "500 ms"
    # As the jar reads it (CheckpointSpec.parse).
    assert json.loads(config.to_spec())["unaligned"] == {
        "timeout_ms": 1500,
        "max_channel_bytes": 1 << 30,
        "max_channel_rows": 7,
        "max_batches_behind": 8,
        "fails": True,
    }
    assert json.loads(CheckpointConfig().to_spec())["unaligned"] is None
    assert CheckpointConfig.from_conf({**conf, "spark.app.name": "x", "spark.snapline.max-parallelism": "8"}) == config


@pytest.mark.parametrize(
    ("bad", "setting"),
    [
        ({"interval": timedelta(milliseconds=9)}, "interval"),
        ({"interval": 10}, "interval"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"timeout": timedelta(days=366)}, "timeout"),
        ({"min_pause": timedelta(seconds=-1)}, "min-pause"),
        ({"file_merging": "yes"}, "file-merging.enabled"),
        ({"file_merging_max_file_size": 1000}, "file-merging.max-file-size"),
        ({"file_merging_max_file_size": (1 << 30) + 1}, "file-merging.max-file-size"),
        ({"max_concurrent_checkpoints": 0}, "max-concurrent-checkpoints"),
        ({"max_concurrent_checkpoints": True}, "max-concurrent-checkpoints"),
        ({"tolerable_failed_checkpoints": -1}, "tolerable-failed-checkpoints"),
        ({"num_retained": 0}, "num-retained"),
        ({"num_retained": 1.5}, "num-retained"),
        ({"incremental": "no"}, "incremental"),
        ({"data_inline_threshold": -1}, "data-inline-threshold"),
        ({"data_inline_threshold": "2m"}, "data-inline-threshold"),
        ({"data_inline_threshold": "much"}, "data-inline-threshold"),
        ({"local_backup": "yes"}, "local-backup.enabled"),
        ({"directory": ""}, "dir"),
        ({"unaligned": "yes"}, "unaligned.enabled"),
        ({"aligned_checkpoint_timeout": timedelta(0)}, "aligned-checkpoint-timeout"),
        ({"max_channel_bytes": 0}, "unaligned.max-channel-bytes"),
        ({"max_channel_rows": 0}, "unaligned.max-channel-rows"),
        ({"max_batches_behind": 0}, "unaligned.max-batches-behind"),
        ({"at_channel_limit": "wait"}, "unaligned.at-limit"),
        ({"directory": 7}, "dir"),
        ({"prefer_checkpoint_for_recovery": 1}, "prefer-checkpoint-for-recovery"),
        ({"forced": None}, "forced"),
        ({"mode": "AT_LEAST_ONCE"}, "mode"),
        ({"mode": 1}, "mode"),
        ({"externalized_checkpoint_retention": "KEEP"}, "externalized-checkpoint-retention"),
        ({"min_pause": timedelta(seconds=1), "max_concurrent_checkpoints": 2}, "min-pause"),
    ],
)
def test_what_cannot_be_is_refused_by_name(bad: dict[str, Any], setting: str) -> None:
    with pytest.raises(InvalidConfiguration, match=PREFIX + setting):
        CheckpointConfig(**bad)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interval", "ten"),
        ("interval", "10 parsecs"),
        ("timeout", "999999999999999 d"),
        ("num-retained", "many"),
        ("num-retained", "٣"),
        ("max-concurrent-checkpoints", "-1"),
        ("unaligned", "true"),
        ("incremental", "maybe"),
        ("data-inline-threshold", "2m"),
        ("dir", " "),
    ],
)
def test_bad_settings_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidConfiguration, match=PREFIX + name):
        CheckpointConfig.from_conf({PREFIX + name: value})


@pytest.mark.parametrize(
    ("text", "millis"),
    [("10 s", 10_000), ("10s", 10_000), ("250", 250), ("5 min", 300_000), ("1 H", 3_600_000), ("2 days", 172_800_000)],
)
def test_durations_are_flinks(text: str, millis: int) -> None:
    assert parse_duration("it", text) == timedelta(milliseconds=millis)


@given(st.integers(0, 10**12))
def test_durations_come_back(millis: int) -> None:
    duration = timedelta(milliseconds=millis)
    assert parse_duration("it", format_duration(duration)) == duration


def test_at_least_once_is_for_aligned_checkpoints_at_an_interval() -> None:
    config = CheckpointConfig(mode="at_least_once", interval=timedelta(seconds=1))
    assert config.is_at_least_once
    assert CheckpointConfig.from_conf(config.to_conf()) == config
    spec = json.loads(config.to_spec())
    assert (spec["mode"], spec["interval_ms"], spec["unaligned"]) == ("AT_LEAST_ONCE", 1000, None)
    with pytest.raises(InvalidConfiguration, match="interval is not set"):
        CheckpointConfig(mode=CheckpointingMode.AT_LEAST_ONCE)
    with pytest.raises(InvalidConfiguration, match="unaligned"):
        CheckpointConfig(mode="AT_LEAST_ONCE", interval=timedelta(seconds=1), unaligned=True)
