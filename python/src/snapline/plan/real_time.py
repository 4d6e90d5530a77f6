"""Spark's real-time mode: a query that cannot run in it is refused before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.functions.whole_batch import whole_batch_needs
from snapline.plan.logical_plan import Plan, WriterSettings
from snapline.plan.obstacles import INITIAL
from snapline.spark_line import has_real_time_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from snapline.settings.checkpoint_config import CheckpointConfig

_SINKS = {"console", "foreach", "kafka", "memory"}
#: Logical nodes of the physical ones on Spark's own list; ours stand beside them.
_NODES = {
    "Aggregate",
    "AppendColumns",
    "Deduplicate",
    "DeserializeToObject",
    "EventTimeWatermark",
    "Expand",
    "Filter",
    "Generate",
    "KeyedProcess",
    "LocalRelation",
    "MapElements",
    "MapPartitions",
    "Project",
    "Repartition",
    "RepartitionByExpression",
    "SerializeFromObject",
    "StreamingRelation",
    "StreamingRelationV2",
    "SubqueryAlias",
    "TransformWithState",
    "Union",
    "UpdateEventTimeWatermarkColumn",
}
_KAFKA_TOPICS = ("assign", "subscribe", "subscribepattern")


def check_real_time(writer: DataStreamWriter, config: CheckpointConfig) -> None:
    """Refuses a query that cannot run in real-time mode, before anything is written.

    Raises:
        InvalidConfiguration: every reason is named.
    """
    if not has_real_time_state():
        raise InvalidConfiguration(
            "trigger(realTime=…) with a keyed function needs Spark 4.3.",
            "use pyspark 4.3 and the Snapline for it; or trigger(processingTime=…).",
        )
    settings, plan = WriterSettings.of(writer), Plan.of(writer._df)
    found = [*_of_writer(settings), *_of_config(config), *dict.fromkeys(_of_plan(plan))]
    if found:
        raise InvalidConfiguration(
            f"trigger(realTime=…) does not fit this query: {'; '.join(found)}.",
            "mend that, or use trigger(processingTime=…).",
        )
    _check_slots(writer._df.sparkSession, plan)


def _of_writer(writer: WriterSettings) -> Iterator[str]:
    if writer.output_mode.lower() != "update":
        yield f'its output mode is {writer.output_mode.lower()}: set outputMode("update")'
    if writer.is_exactly_once:
        yield (
            "an exactly-once sink needs micro-batches that have the same rows when they run again, and a real-time one "
            "begins anew with other rows"
        )
    elif writer.format.lower() not in _SINKS:
        yield f"the sink {writer.format} does not write rows as they come: use Kafka, foreach, console or memory"


def _of_config(config: CheckpointConfig) -> Iterator[str]:
    if config.unaligned:
        yield "unaligned=True cuts micro-batches that take too long"


def _of_plan(node: Plan) -> Iterator[str]:
    if not node.is_streaming:
        return
    if node.name == INITIAL:
        yield f"{node.text} has an initial state, which Spark reads through a shuffle of another kind"
    elif node.name == "KeyedConnect":
        yield from whole_batch_needs(node.text, has_broadcast=True)
    elif node.name == "KeyedProcess":
        yield from _of_function(node)
    elif node.name == "Join" and not all(child.is_streaming for child in node.children):
        pass
    elif node.name not in _NODES:
        yield f"{node.text} is not among the operators of real-time mode"
    for child in node.children:
        yield from _of_plan(child)


def _of_function(node: Plan) -> Iterator[str]:
    spec = node.node.function().spec()
    return whole_batch_needs(
        node.text,
        is_keyed=spec.keyed(),
        has_order=node.has_order,
        is_grouped=spec.grouped(),
        has_operator_state=not spec.operatorStates().isEmpty(),
    )


def _check_slots(session: SparkSession, plan: Plan) -> None:
    """All tasks of a micro-batch run at once, for as long as it lasts."""
    cores = session.sparkContext.defaultParallelism
    state = int(str(session.conf.get("spark.sql.shuffle.partitions")))
    sources = sum(_partitions(session, node) for node in _sources(plan))
    wanted = sources + state * _shuffles(plan)
    if wanted > cores:
        raise InvalidConfiguration(
            f"trigger(realTime=…) runs all tasks at once, {sources} of the sources and {wanted - sources} of state; "
            f"there are {cores} cores: {wanted - cores} are missing.",
            "set spark.sql.shuffle.partitions to fewer, or give the application more cores.",
        )


def _shuffles(node: Plan) -> int:
    own = node.is_streaming and node.name in ("Aggregate", "Deduplicate", "KeyedProcess", "TransformWithState")
    return own + sum(map(_shuffles, node.children))


def _sources(node: Plan) -> Iterator[Plan]:
    if node.source is not None:
        yield node
    for child in node.children:
        yield from _sources(child)


def _partitions(session: SparkSession, node: Plan) -> int:
    """The partitions that a source has now; 1 where only Spark will know."""
    assert node.source is not None
    options: Mapping[str, str] = node.source.options
    if not any(name in options for name in _KAFKA_TOPICS):
        return 1
    wanted = {name: text for name, text in options.items() if name in _KAFKA_TOPICS or name.startswith("kafka.")}
    return int(session.read.format("kafka").options(**wanted).load().rdd.getNumPartitions())
