"""The exactly-once Kafka sink where it cannot work, and a query that goes on under its id with other partitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ..drill.tally import Tally
from .broker import Broker
from .command import Command
from .feeds import FolderFeed
from .files_query import make_lives, make_orders
from .kafka_jars import kafka_jars
from .life import Lives
from .test_exactly_once_kafka import PARTITIONS, check_topic


def lives_into(tally: Tally, broker: Broker, topic: str, folder: Path, **options: str) -> Lives:
    """Files into a topic."""
    sink = {"bootstrap": broker.address, "topic": topic, **options}
    checkpoint = str(folder / "checkpoint")
    return make_lives(tally, folder, checkpoint, sink="snapline-kafka", sink_options=sink, jars=kafka_jars())


def refused(lives: Lives, code: str, *words: str) -> None:
    """The query ends, and its error has the code and these words."""
    with lives.start(ends=True) as life:
        assert life.wait() != 0, life.complaint
        for each in (code, *words):
            assert each in life.text, f"no {each!r}: {life.complaint}"


def test_a_topic_of_markers_that_expire(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    broker.make_topic("expiring-out", PARTITIONS)
    broker.make_topic("expiring-markers", 1, cleanup_policy="delete")
    lives = lives_into(tally, broker, "expiring-out", tmp_path, markers_topic="expiring-markers")
    refused(lives, "SNAPLINE-CONFIG", "cleanup.policy=delete", "set it to compact")
    assert broker.read("expiring-out") == []


def test_a_topic_that_is_deleted_while_the_query_runs(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    """The query fails. When the topic is there again it has the rows from the failed batch on."""
    broker.make_topic("deleted-out", PARTITIONS)
    impatient = {"kafka.max.block.ms": "4000", "kafka.delivery.timeout.ms": "5000", "kafka.request.timeout.ms": "2000"}
    lives = lives_into(tally, broker, "deleted-out", tmp_path, **impatient, **{"kafka.linger.ms": "0"})
    with lives.start() as life:
        life.wait_for("\nbatch 3\n")
        broker.delete_topic("deleted-out")
        assert life.wait() != 0
        assert "SNAPLINE-STORAGE" in life.text, life.complaint
        assert "the topic is there" in life.text, life.complaint
    broker.make_topic("deleted-out", PARTITIONS)
    lives.end()
    found = broker.read("deleted-out")
    assert 0 < len(found) == len(set(found)) < len(lives.rows)


def test_a_broker_with_a_lower_limit_of_transactions(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, tally: Tally
) -> None:
    broker = Broker(tmp_path_factory.mktemp("kafka"), transaction_max_timeout_ms=60_000)
    with broker.start():
        broker.make_topic("limit-out", PARTITIONS)
        lives = lives_into(tally, broker, "limit-out", tmp_path)
        refused(lives, "SNAPLINE-CONFIG", "900000", "kafka.transaction.timeout.ms")
        assert broker.read("limit-out") == []
        options = {**lives.orders.sink_options, "kafka.transaction.timeout.ms": "60000"}
        lives.orders = replace(lives.orders, sink_options=options)
        lives.end()
        check_topic(broker, "limit-out", lives)


def test_rights_that_are_missing(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    """Those that `docs/exactly-once.md` names are enough."""
    broker.make_topic("rights-out", PARTITIONS)
    broker.make_topic("rights-markers", 1, cleanup_policy="compact")
    options = {**broker.user_options, "markers_topic": "rights-markers"}
    lives = lives_into(tally, broker, "rights-out", tmp_path, **options)
    refused(lives, "SNAPLINE-STORAGE", "allow WRITE on the topics")
    broker.allow("TOPIC", "rights-out", "WRITE")
    broker.allow("TOPIC", "rights-markers", "READ", "WRITE")
    refused(lives, "SNAPLINE-STORAGE", "transactional ids that begin with snapline-")
    broker.allow("TRANSACTIONAL_ID", "snapline-", "WRITE", "DESCRIBE", prefix=True)
    lives.end()
    check_topic(broker, "rights-out", lives)


def test_other_partitions_under_the_same_id(broker: Broker, tmp_path: Path, tally: Tally) -> None:
    """Partition 1 has other keys after a rescale: no row of theirs is taken for one that is there."""
    broker.make_topic("rescaled-out", PARTITIONS)
    sink = {"bootstrap": broker.address, "topic": "rescaled-out"}
    orders = make_orders(
        tmp_path, str(tmp_path / "first"), sink="snapline-kafka", sink_options=sink, jars=kafka_jars(), interval=1.0
    )
    lives = Lives(tmp_path, [], orders, tally)
    feed = FolderFeed(tmp_path / "input")

    def send(files: int) -> None:
        for _ in range(files):
            lives.give(feed, 20)

    for parallelism in (3, 1, 4):
        send(8)
        lives.kill_one(2)
        lives.end()
        rescaled = str(tmp_path / f"rescaled-{parallelism}")
        arguments = ("--to", rescaled, "--parallelism", str(parallelism), "--keep-query-id")
        Command(lives, {}).run("rescale", lives.orders.checkpoint, *arguments, session=True)
        lives.move(rescaled)
    send(8)
    lives.kill_one(2)
    lives.end()
    check_topic(broker, "rescaled-out", lives)
