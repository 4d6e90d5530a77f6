"""Chooses the sink of a query that has each row once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.plan.logical_plan import JDBC_SINK, KAFKA_SINK, OWN_SINK
from snapline.plan.plan_checks import check_repeatable
from snapline.sink.batches import write_batches
from snapline.sink.transactional import TransactionalSink

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def exactly_once(writer: DataStreamWriter, *, forced: bool = False, name: str | None = None) -> ExactlyOnce:
    """Gives a query a sink that has each row once, whatever fails.

    A task writes its partition of a micro-batch in one transaction, with a marker of the batch. A task that runs the
    batch again reads the marker first, and writes nothing that is there. So a batch must give the same rows again.

    Args:
        writer: ``df.writeStream``, with its options; the sink is chosen here.
        forced: a plan whose rows may differ when a batch runs again is warned of, and not refused. Rows that are
            written stay as they are, and such a batch fails when its partition is compared.
        name: tells apart the sinks of a query; None: the topic, table or class.

    Raises:
        InvalidConfiguration: the rows of a batch may differ when it runs again; every reason is named.
    """
    check_repeatable(writer, forced)
    return ExactlyOnce(writer, name)


class ExactlyOnce:
    """The sinks there are. Each method gives back the writer, for ``start()`` or :func:`snapline.start`."""

    def __init__(self, writer: DataStreamWriter, name: str | None) -> None:
        self._writer = writer
        self._name = name

    def kafka(
        self,
        bootstrap: str,
        topic: str | None = None,
        *,
        markers_topic: str | None = None,
        **options: str,
    ) -> DataStreamWriter:
        """A topic, read by consumers with ``isolation.level=read_committed``.

        The columns are those of Spark's Kafka sink: ``value``, and if they are there ``key``, ``headers``,
        ``partition`` and ``topic``.

        Args:
            bootstrap: ``host:port`` of brokers, with commas between them.
            topic: the topic of all rows; None: the column ``topic`` says it.
            markers_topic: the compacted topic of the markers, ``snapline-markers`` by default; it is made if it is not
                there.
            options: options of the sink and, behind ``kafka.``, of Kafka's clients, as ``**{"kafka.linger.ms": "20"}``.
        """
        given = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "markersTopic": markers_topic}
        return self._of(KAFKA_SINK, given, options)

    def jdbc(
        self,
        url: str,
        table: str,
        *,
        keys: Sequence[str] = (),
        markers_table: str | None = None,
        **options: str,
    ) -> DataStreamWriter:
        """A table of a database with transactions. It is made if it is not there.

        Args:
            url: ``jdbc:postgresql://host/database``, for example; the driver's jar is the session's to have.
            keys: columns by which a row replaces the one before, of PostgreSQL, SQLite, MySQL, MariaDB or H2; null in
                one of them is refused. Empty: rows are appended.
            markers_table: the table of the markers, ``snapline_markers`` by default; it is made if it is not there.
            options: options of the sink, of Spark's JDBC writer (``batchsize``, ``driver``), and of the database's
                driver.
        """
        if isinstance(keys, str):
            raise InvalidConfiguration(f"keys={keys!r}.", "give a list of names of columns.")
        given = {"url": url, "dbtable": table, "keys": ",".join(keys) or None, "markersTable": markers_table}
        return self._of(JDBC_SINK, given, options)

    def to(self, sink: TransactionalSink) -> DataStreamWriter:
        """A sink of one's own.

        Raises:
            InvalidConfiguration: it is none.
        """
        return self._writer.option(OWN_SINK, "true").foreachBatch(write_batches(sink, self._name))

    def _of(self, format: str, given: dict[str, str | None], options: dict[str, str]) -> DataStreamWriter:
        writer = self._writer.format(format)
        all_options = {**given, "sink": self._name, **options}
        return writer.options(**{name: value for name, value in all_options.items() if value is not None})
