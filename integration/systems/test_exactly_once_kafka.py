"""The exactly-once Kafka sink, beside Spark's: drivers are killed, the broker dies and stalls.

SNAPLINE_SINK_KILLS: how many drivers are killed in each mode (4).
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ..cluster.test_cluster import executors
from ..drill.lives import SEED
from ..drill.tally import Tally
from .broker import Broker
from .kafka_jars import kafka_jars
from .life import Lives
from .orders import Orders
from .rows import make_rows

KILLS = int(os.environ.get("SNAPLINE_SINK_KILLS", "4"))
ROWS_OF_A_LIFE = 150
"""So many that no life takes all of them in."""
PARTITIONS = 3
COPIES = {
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.minTaskRuntime": "0ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.excludeOnFailure.enabled": "false",
}
"""Tasks that are the least bit slow have copies elsewhere."""
MODES = [
    pytest.param({"interval": None, "format": 1}, id="every-batch-1"),
    pytest.param({"interval": None, "format": 2}, id="every-batch-2"),
    pytest.param({"interval": 1.0, "format": 1}, id="interval-1"),
    pytest.param({"interval": 1.0, "format": 2, "restarts": 30}, id="interval-2-restarts"),
]


def make_lives(tally: Tally, folder: Path, broker: Broker, name: str, rows: int, **more: object) -> Lives:
    """From the topic `name`-in, which is filled, to the topic `name`-out, in batches of some 25 rows."""
    for direction in ("in", "out"):
        broker.make_topic(f"{name}-{direction}", PARTITIONS)
    limits = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "25", "failOnDataLoss": "true"}
    orders = Orders(
        checkpoint=str(folder / "checkpoint"),
        source="kafka",
        source_options={"kafka.bootstrap.servers": broker.address, "subscribe": f"{name}-in", **limits},
        sink="snapline-kafka",
        sink_options={"bootstrap": broker.address, "topic": f"{name}-out"},
        state=str(folder / "state.json"),
        local=str(folder / "local"),
        jars=kafka_jars(),
    )
    made = make_rows(rows)
    broker.send(f"{name}-in", made)
    return Lives(folder, made, replace(orders, **more), tally)  # type: ignore[arg-type]


def check_topic(broker: Broker, topic: str, lives: Lives) -> None:
    """A consumer of committed records has every result once, in the order of its key, and nothing else."""
    found = [tuple(json.loads(value).values()) for value in broker.read(topic)]
    again = [row for row, times in Counter(found).items() if times > 1]
    assert not again, f"seed {SEED}: {len(again)} results came twice, such as {again[0]}"
    lives.check(found)


@pytest.mark.parametrize("mode", MODES)
def test_killed_drivers(
    broker: Broker, tmp_path: Path, tally: Tally, mode: dict[str, object], request: pytest.FixtureRequest
) -> None:
    chance = random.Random(SEED)
    name = request.node.callspec.id
    lives = make_lives(tally, tmp_path, broker, name, ROWS_OF_A_LIFE * (KILLS + 1), **mode)
    for _ in range(KILLS):
        lives.kill_one(chance.randint(0, 5))
    lives.end()
    check_topic(broker, f"{name}-out", lives)


def test_killed_executors_and_copies_of_tasks(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    """Executors die in the middle of batches, and slow tasks have copies elsewhere: attempts of one partition meet."""
    name = "executors"
    conf = {**COPIES, "spark.task.maxFailures": "20"}
    lives = make_lives(tally, tmp_path, broker, name, 600, master="local-cluster[3,1,1024]", conf=conf)
    chance = random.Random(SEED)
    with lives.start() as life:
        for batch in range(2, 2 + 2 * KILLS, 2):
            life.wait_for(f"\nbatch {batch}\n")
            time.sleep(chance.uniform(0, 0.3))
            os.kill(chance.choice(executors(life.pid)), signal.SIGKILL)
            tally.kills += 1
        life.wait_for(f"\nbatch {3 + 2 * KILLS}\n")
        print(f"{life.text.count('[SNAPLINE-TAKEN-OVER]')} attempts were fenced")
    lives.faults = KILLS
    lives.end()
    check_topic(broker, f"{name}-out", lives)


def test_a_broker_that_stalls_and_dies(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    name = "stalls"
    lives = make_lives(tally, tmp_path, broker, name, 600, interval=1.0, restarts=30)
    lives.stall_and_restart(broker)
    lives.end()
    check_topic(broker, f"{name}-out", lives)


def test_sparks_own_sink_has_rows_twice(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    """In the same drill. It shows that the drill would find what it looks for."""
    name = "spark"
    lives = make_lives(tally, tmp_path, broker, name, ROWS_OF_A_LIFE * (KILLS + 1))
    options = {"kafka.bootstrap.servers": broker.address, "topic": f"{name}-out"}
    lives.orders = replace(lives.orders, sink="kafka", sink_options=options)
    chance = random.Random(SEED)
    for _ in range(KILLS):
        lives.kill_one(chance.randint(0, 5))
    lives.end()
    found = Counter(tuple(json.loads(value).values()) for value in broker.read(f"{name}-out"))
    lives.check(found)
    print(f"{found.total() - len(found)} of {len(found)} results came twice from Spark's sink, after {KILLS} kills")
