"""The obstacles to an exact replay, and the action for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from snapline.plan.logical_plan import Plan, WriterSettings

# Snapline's own nodes: a keyed function with a broadcast stream, with an initial state, and with neither.
INITIAL = "KeyedInitial"
KEYED = ("KeyedConnect", INITIAL, "KeyedProcess")

#: The trigger of Spark's real-time mode.
REAL_TIME = "RealTimeTrigger"

# Spark calls them non-deterministic, and they follow from the input alone.
REPLAYABLE = {"InputFileName", "InputFileBlockStart", "InputFileBlockLength"}

# The result depends on the order of a batch's rows, or on how they fall into partitions.
ORDER_DEPENDENT = {
    "AnyValue",
    "CollectList",
    "CollectSet",
    "First",
    "Last",
    "ListAgg",
    "MonotonicallyIncreasingID",
    "SparkPartitionID",
}

# Spark puts the batch's time in their place, but not in the plan of a subquery: that has the time of planning.
BATCH_TIMES = {"CurrentDate", "CurrentTimestamp", "LocalTimestamp"}
# They always have the time of planning.
CLOCKS = {"CurrentTime", "Now"}

_CLEAN_SOURCE = "cleansource"
_FAIL_ON_DATA_LOSS = "failondataloss"
_ASYNC_PROGRESS = "asyncprogresstrackingenabled"


@dataclass(frozen=True)
class Obstacle:
    """One reason.

    Attributes:
        found: what it is, with its name.
        action: what to do about it.
        fatal: whether a replay would be wrong, or only may be.
        static: whether it is on a static side, which Spark reads anew each time it runs a batch.
    """

    found: str
    action: str
    fatal: bool
    static: bool = False


def of_source(name: str, options: Mapping[str, str]) -> Iterator[Obstacle]:
    """A source, by its short name; names of options in lower case."""
    clean = options.get(_CLEAN_SOURCE, "off").lower()
    if clean != "off":
        yield Obstacle(
            f"source {name} has cleanSource={clean}, which removes input files a replay reads again",
            "set cleanSource to off, and clean up files older than the oldest checkpoint by other means",
            fatal=True,
        )
    if name in ("socket", "TextSocketV2") or "TextSocket" in name:
        yield Obstacle(
            f"source {name} cannot be read twice",
            "use a source that can, such as files or Kafka",
            fatal=True,
        )
    if options.get(_FAIL_ON_DATA_LOSS, "true").lower() == "false":
        yield Obstacle(
            f"source {name} has failOnDataLoss=false, so that a replay passes over input that is gone by then",
            "set failOnDataLoss to true",
            fatal=False,
        )


def of_node(node: Plan) -> Iterator[Obstacle]:
    """A node of the plan whose rows go into state, or that keeps it."""
    if node.name == "Sample":
        yield Obstacle(
            f"{node.text} draws rows by their order in a partition, which no replay repeats",
            "choose rows by their content, such as pmod(hash(key), 100) < 10",
            fatal=True,
        )
    if node.name in KEYED and not node.has_key:
        yield Obstacle(
            "a function without a key gets its rows in the partitions and in the order of its input",
            "read a source that splits a batch again as before, without repartition() or a join in between; or see "
            "that the function does not depend on it",
            fatal=False,
        )
    elif node.name in KEYED and not node.has_order:
        yield Obstacle(
            "a keyed function gets the rows of a key in no fixed order",
            "fix it with key_by(...).order_by(...), or see that the function does not depend on it",
            fatal=False,
        )
    if node.name in ("Deduplicate", "DeduplicateWithinWatermark") and node.drops_columns:
        yield Obstacle(
            f"{node.text} keeps whichever of the rows with equal keys comes first",
            "drop duplicates on all columns, or use what comes after it by the key columns only",
            fatal=False,
        )


def of_initial_state() -> Obstacle:
    """An initial state, which is read until the first checkpoint is complete."""
    return Obstacle(
        "an initial state is read again if the query fails before its first checkpoint",
        "let its table be as it is until then: the first micro-batch takes a checkpoint",
        fatal=False,
    )


def of_table(text: str) -> Obstacle:
    """A table on a static side of rows that go into state, if nothing says of which version."""
    return Obstacle(
        f"{text} is a static side, which a replay reads as it is by then",
        "read a version of it (Delta: versionAsOf, Iceberg: snapshot-id); or join it after the state; or read it as a "
        "stream",
        fatal=True,
        static=True,
    )


def of_expression(name: str, text: str) -> Obstacle:
    """An expression whose value goes into state, and that Spark calls non-deterministic."""
    if name in ORDER_DEPENDENT:
        return Obstacle(
            f"{text} depends on the order of rows",
            "use what does not, such as min_by or max_by with a column that orders them, or order_by of key_by",
            fatal=False,
        )
    if name in ("PythonUDF", "ScalaUDF", "PythonUDAF"):
        return Obstacle(
            f"{text} is a function declared non-deterministic",
            "make its result follow from its arguments and declare it so, or use it after the state only",
            fatal=True,
        )
    return Obstacle(
        f"{text} gives another value each time",
        "compute it from the row, for example with hash() or xxhash64() of its columns, or use it after the state only",
        fatal=True,
    )


def of_clock(text: str, *, in_subquery: bool, static: bool) -> Obstacle:
    """An expression that gives the time, where Spark does not put that of the batch in its place."""
    return Obstacle(
        f"{text}{' in a subquery' if in_subquery else ''} is the time at which a batch runs, another one in a replay",
        "use current_timestamp() outside of subqueries, which is the batch's, or use it after the state only",
        fatal=True,
        static=static,
    )


def of_writer(writer: WriterSettings) -> Iterator[Obstacle]:
    """How the query is started."""
    if writer.trigger == "ContinuousTrigger":
        yield Obstacle(
            f"{writer.trigger}: its batches end at no offsets that are known before",
            "use trigger(processingTime=...) or trigger(availableNow=True)",
            fatal=True,
        )
    if writer.options.get(_ASYNC_PROGRESS, "false").lower() == "true":
        yield Obstacle(
            "asyncProgressTrackingEnabled=true, which leaves out entries of the logs that a replay needs",
            "leave that option out",
            fatal=True,
        )
