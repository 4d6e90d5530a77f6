"""A query with an interval is warned of executors that Spark may take away."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline.query.leaving_executors import warn_of_leaving_executors

DYNAMIC = "spark.dynamicAllocation.enabled"
DECOMMISSION = "spark.decommission.enabled"


@pytest.mark.parametrize("on", [[], [DYNAMIC], [DECOMMISSION], [DYNAMIC, DECOMMISSION]])
def test_each_setting_is_named_with_what_happens_and_what_to_do(
    on: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"spark.master": "k8s://https://cluster", DYNAMIC: "false", **dict.fromkeys(on, "True")}
    with caplog.at_level(logging.WARNING, "snapline"):
        assert warn_of_leaving_executors(settings) == on
    assert len(caplog.messages) == len(on)
    for name, message in zip(on, caplog.messages, strict=True):
        assert message.startswith(f"{name} is true: ")
        assert "the query fails, and a start goes back to that checkpoint and replays. Do: " in message


def test_a_local_master_has_no_executors_to_lose() -> None:
    assert warn_of_leaving_executors({"spark.master": "local[2]", DYNAMIC: "true"}) == []


@pytest.mark.parametrize("uploads", [True, False])
@pytest.mark.parametrize("interval", [timedelta(minutes=10), None])
def test_a_start_warns_where_changes_are_on_executors_alone(
    spark: SparkSession, tmp_path: Path, interval: timedelta | None, uploads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def heard(settings: dict[str, str]) -> list[str]:
        seen.append(settings["spark.master"])
        return []

    monkeypatch.setattr("snapline.query.starting.warn_of_leaving_executors", heard)
    counted = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load().groupBy("value").count()
    writer = counted.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(tmp_path / "c"))
    query = snapline.start(writer, snapline.CheckpointConfig(interval=interval, upload_changelogs=uploads))
    query.stop()
    assert seen == ([spark.sparkContext.master] if interval and not uploads else [])
