"""Drivers, executors and the broker or the database are killed at random moments beneath the exactly-once sinks.

The rows that a reader of committed data finds afterwards are those of plain Python: none twice, none missing; and so is
the state. SNAPLINE_SINK_KILLS: how many processes are killed in each mode (4).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..drill.tally import Tally
from .artifacts import jar
from .broker import Broker
from .feeds import FolderFeed, TopicFeed
from .files_query import make_orders
from .harm import Harm
from .kafka_jars import kafka_jars
from .life import Lives
from .postgres import Postgres
from .test_exactly_once_kafka import COPIES, KILLS, PARTITIONS, check_topic
from .test_exactly_once_postgres import check_table

RESTARTS = 10_000
"""A query that its sink or its executors have left begins again by itself, as often as it takes."""
CLUSTER = {
    "master": "local-cluster[2,1,1024]",
    "conf": {
        **COPIES,
        "spark.task.maxFailures": "4",
        "spark.executor.extraJavaOptions": f"-XX:+UseSerialGC {os.environ.get('SPARK_SUBMIT_OPTS', '')}",
    },
}
"""Tasks are tried again, and slow ones have copies."""
CUT = 0.02
"""Seconds that a batch may take before it is cut; 25 rows take 75 ms."""


def mode(name: str, **more: object) -> object:
    return pytest.param({"restarts": RESTARTS, **more}, id=name)


KAFKA_MODES = [
    mode("every-batch-1", format=1),
    mode("every-batch-2-cluster", format=2, **CLUSTER),
    mode("interval-1-cluster", interval=1.0, format=1, **CLUSTER),
    mode("interval-2", interval=1.0, format=2),
    mode("cut-every-batch-2", format=2, budget=CUT),
    mode("cut-interval-1-cluster", interval=1.0, format=1, budget=CUT, **CLUSTER),
]
POSTGRES_MODES = [
    mode("every-batch-1-cluster", format=1, **CLUSTER),
    mode("interval-2-cluster", interval=1.0, format=2, **CLUSTER),
    mode("cut-interval-1", interval=1.0, format=1, budget=CUT),
    mode("cut-every-batch-2-cluster", format=2, budget=CUT, **CLUSTER),
]


@pytest.mark.parametrize("mode", KAFKA_MODES)
def test_kafka(
    broker: Broker, tmp_path: Path, tally: Tally, mode: dict[str, object], request: pytest.FixtureRequest
) -> None:
    name = f"killed-{request.node.callspec.id}"
    for direction in ("in", "out"):
        broker.make_topic(f"{name}-{direction}", PARTITIONS)
    source = {"kafka.bootstrap.servers": broker.address, "subscribe": f"{name}-in", "startingOffsets": "earliest"}
    orders = make_orders(
        tmp_path,
        str(tmp_path / "checkpoint"),
        source="kafka",
        source_options={**source, "maxOffsetsPerTrigger": "25", "failOnDataLoss": "true"},
        sink="snapline-kafka",
        sink_options={"bootstrap": broker.address, "topic": f"{name}-out"},
        jars=kafka_jars(),
        **mode,
    )
    lives = Lives(tmp_path, [], orders, tally)
    harm = Harm(lives, TopicFeed(broker, f"{name}-in"), broker)
    harm.kill(KILLS)
    lives.end()
    check_topic(broker, f"{name}-out", lives)
    print(f"{name}: {dict(harm.kills)} killed, {len(lives.rows)} rows")


@pytest.mark.parametrize("mode", POSTGRES_MODES)
def test_postgres(
    postgres: Postgres, tmp_path: Path, tally: Tally, mode: dict[str, object], request: pytest.FixtureRequest
) -> None:
    table = "killed_" + request.node.callspec.id.replace("-", "_")
    sink = {"url": f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres", "table": table, "user": "postgres"}
    driver = str(jar("org.postgresql:postgresql:42.7.8"))
    checkpoint = str(tmp_path / "checkpoint")
    orders = make_orders(tmp_path, checkpoint, sink="snapline-jdbc", sink_options=sink, jars=[driver], **mode)
    lives = Lives(tmp_path, [], orders, tally)
    harm = Harm(lives, FolderFeed(tmp_path / "input"), postgres)
    harm.kill(KILLS)
    lives.end()
    check_table(postgres, table, lives)
    print(f"{table}: {dict(harm.kills)} killed, {len(lives.rows)} rows")
