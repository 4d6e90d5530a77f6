"""Kafka as source and sink: drivers are killed, the broker dies and stalls, records expire."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ..drill.tally import Tally
from .broker import Broker
from .kafka_jars import kafka_jars
from .life import Lives
from .orders import Orders
from .rows import make_rows

ROWS = 600
PARTITIONS = 3
MODES = [pytest.param(None, 1, id="every-batch"), pytest.param(1.0, 2, id="interval")]


@pytest.fixture(scope="module")
def jars() -> list[str]:
    return kafka_jars()


def make_lives(tally: Tally, folder: Path, broker: Broker, jars: list[str], name: str, **more: object) -> Lives:
    """From the topic `name`-in, which is filled, to the topic `name`-out, in batches of some 25 rows."""
    for direction in ("in", "out"):
        broker.make_topic(f"{name}-{direction}", PARTITIONS)
    kafka = {"kafka.bootstrap.servers": broker.address}
    limits = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "25", "failOnDataLoss": "true"}
    orders = Orders(
        checkpoint=str(folder / "checkpoint"),
        source="kafka",
        source_options={**kafka, "subscribe": f"{name}-in", **limits},
        sink="kafka",
        sink_options={**kafka, "topic": f"{name}-out"},
        state=str(folder / "state.json"),
        local=str(folder / "local"),
        jars=jars,
    )
    rows = make_rows(ROWS)
    broker.send(f"{name}-in", rows)
    return Lives(folder, rows, replace(orders, **more), tally)  # type: ignore[arg-type]


def check_topic(broker: Broker, topic: str, lives: Lives) -> int:
    """Every result is there, and nothing else. How many came again: they are the same to the byte."""
    found = Counter(tuple(json.loads(value).values()) for value in broker.read(topic))
    lives.check(found)
    return found.total() - len(found)


@pytest.mark.parametrize(("interval", "version"), MODES)
def test_killed_drivers(
    broker: Broker, jars: list[str], tmp_path: Path, interval: float | None, version: int, tally: Tally
) -> None:
    name = f"killed-{version}"
    lives = make_lives(tally, tmp_path, broker, jars, name, interval=interval, format=version)
    for batches in (5, 2, 6):
        lives.kill_one(batches)
    lives.end()
    again = check_topic(broker, f"{name}-out", lives)
    # Spark's Kafka sink is at-least-once: of each killed life, the batch that it was in.
    assert again <= 3 * 25
    print(f"{again} of {ROWS} results came twice, each time the same")


def test_a_broker_that_stalls_and_dies(broker: Broker, jars: list[str], tmp_path: Path, tally: Tally) -> None:
    name = "stalls"
    lives = make_lives(tally, tmp_path, broker, jars, name, interval=1.0, restarts=30)
    lives.stall_and_restart(broker)
    lives.end()
    again = check_topic(broker, f"{name}-out", lives)
    print(f"{again} of {ROWS} results came twice, each time the same")


def test_records_that_a_replay_needs_have_expired(
    broker: Broker, jars: list[str], tmp_path: Path, tally: Tally
) -> None:
    name = "expired"
    lives = make_lives(tally, tmp_path, broker, jars, name, interval=3600)
    lives.kill_one(6)
    logs = Path(lives.orders.checkpoint) / "offsets"
    newest = max(int(path.name) for path in logs.iterdir() if path.name.isdigit())
    offsets = json.loads((logs / str(newest)).read_text().splitlines()[-1])[f"{name}-in"]
    broker.delete_before(f"{name}-in", {int(number): offset for number, offset in offsets.items()})
    with lives.start() as life:
        assert life.wait() != 0
        assert "[SNAPLINE-NOT-FOUND]" in life.text
        assert re.search(rf"batch 1 has to be run again.*topic partition {name}-in-\d", life.text)
    # The way out that the message names, with what it says of the state.
    careless = {**lives.orders.source_options, "failOnDataLoss": "false"}
    with lives.start(source_options=careless) as life:
        life.wait_for("\nbatch ")
        assert "may rebuild another state" in life.text
