"""Spark's real-time mode from Kafka to Kafka: drivers are killed in the middle of micro-batches. It needs Spark 4.3.

SNAPLINE_REAL_TIME_KILLS: how many drivers are killed (4).
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from snapline.spark_line import has_real_time_state

from ..drill.lives import SEED
from ..drill.tally import Tally
from .broker import Broker
from .feeds import TopicFeed
from .files_query import make_orders
from .kafka_jars import kafka_jars
from .life import Lives

KILLS = int(os.environ.get("SNAPLINE_REAL_TIME_KILLS", "4"))
PARTITIONS = 3
ROWS = 40

pytestmark = pytest.mark.skipif(not has_real_time_state(), reason="real-time mode keeps state from Spark 4.3 on")


@pytest.mark.parametrize("interval", [None, 60.0], ids=["every-batch", "interval"])
def test_killed_drivers(broker: Broker, tmp_path: Path, tally: Tally, interval: float | None) -> None:
    """Each row comes out with the count and sum of its key; one that comes again comes with the same ones. Other lives
    run in micro-batches, on the same checkpoint folder."""
    source, sink = (f"live-{direction}-{interval}" for direction in ("in", "out"))
    for topic in (source, sink):
        broker.make_topic(topic, PARTITIONS)
    kafka = {"kafka.bootstrap.servers": broker.address}
    orders = make_orders(
        tmp_path,
        str(tmp_path / "checkpoint"),
        source="kafka",
        source_options={**kafka, "subscribe": source, "startingOffsets": "earliest"},
        sink="kafka",
        sink_options={**kafka, "topic": sink},
        format=2,
        interval=interval,
        jars=kafka_jars(),
        real_time="2 seconds",
        master="local[8]",
        conf={
            "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
            "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
        },
    )
    lives = Lives(tmp_path, [], orders, tally)
    feed = TopicFeed(broker, source)
    chance = random.Random(SEED)
    for number in range(KILLS):
        with lives.start() as life:
            life.wait_for("\nstarted\n")
            # Spark begins with micro-batches in no folder whose first batch has left state and no offsets. With an
            # interval the second one is replayed.
            ends = 2 if number == 0 else chance.randint(0, 3)
            lives.give(feed, ROWS)
            while life.text.count("\nbatch ") < ends:
                assert life.running, f"seed {SEED}: {life.complaint}"
                time.sleep(chance.uniform(0, 2))
                lives.give(feed, ROWS)
            time.sleep(chance.uniform(0, 4))
            assert life.running, f"seed {SEED}: {life.complaint}"
        tally.kills += 1
        lives.faults += 1
    lives.end()
    found = Counter(tuple(json.loads(value).values()) for value in broker.read(sink))
    lives.check(found)
    replays = sum(log.read_text().count("Replaying batch") for log in tmp_path.glob("life-*.log"))
    assert (replays > 0) == (interval is not None)
    print(f"{KILLS} kills, {len(found)} rows, {found.total() - len(found)} came again; {replays} batches were replayed")
