"""Reads markers of sinks, without a JVM."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from snapline.errors import InvalidConfiguration, StorageFailure
from snapline.sink.transactional import Marker, signed

KAFKA_TOPIC = "snapline-markers"
TABLE = "snapline_markers"

_POLL_MS = 1000


@dataclass(frozen=True)
class SinkMarkers:
    """The markers of one sink of a query.

    Attributes:
        name: tells it apart from others of the query.
        markers: by partition.
    """

    name: str
    markers: dict[int, Marker]

    @property
    def batch(self) -> int:
        """The newest batch that it has, whole or in part."""
        return max(marker.batch for marker in self.markers.values())

    @property
    def partitions_of_batch(self) -> int:
        """How many partitions have a row of that batch."""
        return sum(marker.batch == self.batch for marker in self.markers.values())

    @property
    def rows_of_batch(self) -> int:
        """How many rows of that batch there are."""
        return sum(marker.rows for marker in self.markers.values() if marker.batch == self.batch)


def read_kafka(query: str, servers: str, topic: str = KAFKA_TOPIC) -> list[SinkMarkers]:
    """From the topic of the markers.

    Raises:
        InvalidConfiguration: kafka-python is not installed.
        StorageFailure: the broker does not answer, or there is no such topic.
    """
    try:
        from kafka import KafkaConsumer, TopicPartition
        from kafka.errors import KafkaError
    except ImportError as e:
        raise InvalidConfiguration("kafka-python is not installed.", "pip install 'snapline[kafka]'.") from e
    try:
        consumer = KafkaConsumer(bootstrap_servers=servers, isolation_level="read_committed", enable_auto_commit=False)
        try:
            found: dict[tuple[str, int], Marker] = {}
            places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
            if not places:
                raise StorageFailure(f"{servers} has no topic {topic}.", "name the topic of the markers.")
            consumer.assign(places)
            consumer.seek_to_beginning(*places)
            ends = consumer.end_offsets(places)
            while any(consumer.position(place) < ends[place] for place in places):
                for records in consumer.poll(_POLL_MS).values():
                    found.update(_of_records(query, records))
            return _by_name((name, partition, marker) for (name, partition), marker in found.items())
        finally:
            consumer.close()
    except KafkaError as e:
        raise StorageFailure(f"{servers} does not answer: {e}.", "give host:port of a broker.") from e


def _of_records(query: str, records: Iterable[Any]) -> Iterator[tuple[tuple[str, int], Marker]]:
    prefix = f"snapline-{query}-"
    for record in records:
        key = record.key.decode()
        if key.startswith(prefix) and record.value is not None:
            name, _, partition = key.removeprefix(prefix).rpartition("-")
            fields = json.loads(record.value)
            digest = signed(int(fields["digest"], 16))
            yield (name, int(partition)), Marker(fields["batch"], fields["partitions"], fields["rows"], digest)


def read_database(query: str, url: str, table: str = TABLE) -> list[SinkMarkers]:
    """From the table of the markers.

    Args:
        url: ``sqlite:path``, or ``postgresql://user:password@host:port/database``; ``jdbc:`` may stand before it.

    Raises:
        InvalidConfiguration: the database is another, or its driver is not installed.
        StorageFailure: it does not answer, or there is no such table.
    """
    if not table.replace("_", "").replace(".", "").isalnum():
        raise InvalidConfiguration(f"the table {table!r}.", "give a plain name.")
    statement = f"select sink, part, batch, parts, row_count, digest from {table}"
    rows = _rows(url.removeprefix("jdbc:"), statement)
    return _by_name(
        (sink.removeprefix(f"{query}/"), part, Marker(batch, parts, count, signed(int(digest, 16))))
        for sink, part, batch, parts, count, digest in rows
        if sink.startswith(f"{query}/")
    )


def _rows(url: str, statement: str) -> list[Any]:
    if url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:")
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                return db.execute(statement).fetchall()
        except sqlite3.Error as e:
            raise StorageFailure(f"{path}: {e}.", "give the path of the database, and the table of the markers.") from e
    if not url.startswith("postgresql:"):
        raise InvalidConfiguration(
            f"the database of {url} is read with a JVM only.", "select from the table of the markers by other means."
        )
    try:
        import pg8000.native
    except ImportError as e:
        raise InvalidConfiguration("pg8000 is not installed.", "pip install 'snapline[postgresql]'.") from e
    where = urlsplit(url)
    try:
        connection: Any = pg8000.native.Connection(
            unquote(where.username or "postgres"),
            host=where.hostname or "localhost",
            port=where.port or 5432,
            database=where.path.lstrip("/") or None,
            password=None if where.password is None else unquote(where.password),
            timeout=20,
        )
        try:
            return list(connection.run(statement))
        finally:
            connection.close()
    except (pg8000.exceptions.Error, OSError) as e:
        raise StorageFailure(f"{url}: {e}.", "see that it answers, and has the table of the markers.") from e


def _by_name(found: Iterable[tuple[str, int, Marker]]) -> list[SinkMarkers]:
    sinks: dict[str, dict[int, Marker]] = {}
    for name, partition, marker in found:
        sinks.setdefault(name, {})[partition] = marker
    return [SinkMarkers(name, dict(sorted(sinks[name].items()))) for name in sorted(sinks)]
