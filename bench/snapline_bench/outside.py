"""Parts of the integration tests. Servers that benches write to need `integration/systems/requirements.txt`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Target:
    """
    Attributes:
        address: of the broker, or the URL of the database.
        jars: of its clients.
        make: makes a topic of so many partitions (8), or says where a table is to be; gives its name.
        user: of the database.
    """

    address: str
    jars: tuple[str, ...]
    make: Callable[..., str]
    user: str = ""


def executors(driver: int) -> list[int]:
    """Process ids of the executors below a driver."""
    sys.path.append(str(ROOT))
    from integration.cluster import test_cluster

    return test_cluster.executors(driver)


@contextmanager
def kafka(folder: Path) -> Iterator[Target]:
    """A broker of one process."""
    sys.path.append(str(ROOT))
    from integration.systems.broker import Broker
    from integration.systems.kafka_jars import kafka_jars

    broker = Broker(folder)
    broker.start()

    def make(name: str, partitions: int = 8) -> str:
        broker.make_topic(name, partitions)
        return name

    try:
        yield Target(broker.address, tuple(kafka_jars()), make)
    finally:
        assert broker.process is not None
        broker.process.kill()


@contextmanager
def postgres(folder: Path) -> Iterator[Target]:
    """PostgreSQL as it comes, but for its port."""
    sys.path.append(str(ROOT))
    from integration.systems.artifacts import jar
    from integration.systems.postgres import Postgres

    server = Postgres(folder)
    server.start()
    try:
        driver = str(jar("org.postgresql:postgresql:42.7.8"))
        url = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"
        yield Target(url, (driver,), lambda name: name, "postgres")
    finally:
        assert server.process is not None
        server.process.kill()
