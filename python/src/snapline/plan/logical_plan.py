"""Spark's analyzed plan, as far as its checks look at it. Every property is a call to the JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from snapline.java_api import java_session_internals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: Formats of the sinks that have each row once, in the jar.
KAFKA_SINK = "snapline-kafka"
JDBC_SINK = "snapline-jdbc"
#: The option that marks foreachBatch with a sink of that kind. Spark does not read it.
OWN_SINK = "snaplineSink"

_TEXT = 120


class Source(NamedTuple):
    """A streaming source: its name, and its options with names in lower case."""

    name: str
    options: Mapping[str, str]


class Plan:
    """A node of a logical plan."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.name = str(node.getClass().getSimpleName())

    @classmethod
    def of(cls, df: DataFrame) -> Plan:
        """A DataFrame's, analyzed. Each ``WITH`` stands where it is used: whether it feeds state depends on that.

        Raises: as :func:`snapline.java_api.java_session_internals`.
        """
        return cls(java_session_internals(df.sparkSession).analyzed(df._jdf))

    @property
    def is_streaming(self) -> bool:
        return bool(self.node.isStreaming())

    @property
    def text(self) -> str:
        """The node in one line."""
        return _shorten(str(self.node.simpleString(_TEXT)))

    @property
    def is_leaf(self) -> bool:
        """Whether it is where rows come from."""
        return bool(self.node.children().isEmpty())

    @property
    def children(self) -> Iterator[Plan]:
        return map(Plan, items_of(self.node.children()))

    @property
    def subqueries(self) -> Iterator[Plan]:
        """Plans within the expressions of this node."""
        return map(Plan, items_of(self.node.subqueries()))

    @property
    def expressions_deterministic(self) -> bool:
        """Whether those of this node are; False where a child below has one that is not."""
        return bool(self.node.deterministic())

    @property
    def expressions(self) -> Iterator[Expression]:
        return map(Expression, items_of(self.node.expressions()))

    def may_give_time(self, session: SparkSession) -> bool:
        """Whether the whole plan, subqueries included, has an expression that Spark evaluates once for a query, such as
        the time. It is one call."""
        jvm: Any = session._jvm
        patterns = getattr(jvm, "org.apache.spark.sql.catalyst.trees.TreePattern")
        return bool(self.node.containsPattern(patterns.CURRENT_LIKE()))

    @property
    def has_order(self) -> bool:
        """Whether order_by fixes the order of a key's rows, in Snapline's keyed function."""
        return int(self.node.order().size()) > 0

    @property
    def has_key(self) -> bool:
        """Whether the rows of Snapline's function have keys."""
        return int(self.node.keys().size()) > 0

    @property
    def drops_columns(self) -> bool:
        """Of a deduplication: whether rows that it takes for equal may differ in other columns."""
        return int(self.node.keys().size()) < int(self.node.child().output().size())

    @property
    def source(self) -> Source | None:
        """None: this node is no source."""
        if self.name == "StreamingRelation":
            source = self.node.dataSource()
            return Source(str(self.node.sourceName()), _lower(_entries(source.options())))
        if self.name == "StreamingRelationV2":
            options = self.node.extraOptions().asCaseSensitiveMap()
            return Source(str(self.node.sourceName()), _lower({key: options[key] for key in options}))
        return None


class Expression:
    """An expression and what is below it."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self.name = str(node.getClass().getSimpleName())

    @property
    def deterministic(self) -> bool:
        return bool(self._node.deterministic())

    @property
    def text(self) -> str:
        """As SQL writes it, nearly."""
        return _shorten(str(self._node.toString()))

    @property
    def children(self) -> list[Expression]:
        return [Expression(child) for child in items_of(self._node.children())]


@dataclass(frozen=True)
class WriterSettings:
    """Of a DataStreamWriter: format, class of its trigger, output mode, and options with names in lower case."""

    format: str
    trigger: str
    output_mode: str
    options: Mapping[str, str]

    @property
    def is_exactly_once(self) -> bool:
        """Whether ``snapline.exactly_once`` chose the sink."""
        return self.format.lower() in (KAFKA_SINK, JDBC_SINK) or OWN_SINK.lower() in self.options

    @property
    def compares_rows(self) -> bool:
        """Whether the sink fails a batch that comes again with other rows."""
        warns = self.options.get("difference", "fail").lower() == "warn" and OWN_SINK.lower() not in self.options
        return self.is_exactly_once and not warns

    @property
    def is_function(self) -> bool:
        """Whether the sink is a function of the user's."""
        return self.format.lower() in ("foreach", "foreachbatch")

    @classmethod
    def of(cls, writer: DataStreamWriter) -> WriterSettings:
        """Spark's writer gives out none of them: they are read from its fields."""
        java: Any = writer._jwrite
        trigger = field_of(java, "trigger")
        # A trigger that is an object has a class name ending in $.
        mode = str(field_of(java, "outputMode").toString())
        kind = str(trigger.getClass().getSimpleName()).rstrip("$")
        return cls(str(field_of(java, "source")), kind, mode, _lower(_entries(field_of(java, "extraOptions"))))


def field_of(java: Any, name: str) -> Any:
    """A private field of a Java object."""
    return _open_field(java, name).get(java)


def set_field(java: Any, name: str, value: Any) -> None:
    """Gives a private field of a Java object another value."""
    _open_field(java, name).set(java, value)


def _open_field(java: Any, name: str) -> Any:
    field = java.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field


def items_of(seq: Any) -> Iterator[Any]:
    """The elements of a Scala sequence."""
    return (seq.apply(index) for index in range(seq.size()))


def _entries(scala_map: Any) -> dict[str, str]:
    pairs = scala_map.toSeq()
    return {str(pair._1()): str(pair._2()) for pair in items_of(pairs)}


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in options.items()}


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else line[: _TEXT - 3] + "..."
