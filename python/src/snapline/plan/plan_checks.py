"""What in a query cannot be replayed: refused, or warned of, before it starts."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.plan.logical_plan import Expression, Plan, WriterSettings
from snapline.plan.obstacles import (
    BATCH_TIMES,
    CLOCKS,
    INITIAL,
    KEYED,
    ORDER_DEPENDENT,
    REPLAYABLE,
    Obstacle,
    of_clock,
    of_expression,
    of_initial_state,
    of_node,
    of_source,
    of_table,
    of_writer,
)
from snapline.plan.static_tables import has_fixed_rows
from snapline.remote.beside import runs_beside

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# Operators that keep state when their input is a stream; a join needs two of them.
_STATEFUL = {
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Distinct",
    "Except",
    "FlatMapGroupsInPandasWithState",
    "FlatMapGroupsWithState",
    "GlobalLimit",
    *KEYED,
    "TransformWithState",
    "TransformWithStateInPySpark",
}

_NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"

_log = logging.getLogger(__name__)


def check_replayable(writer: DataStreamWriter, forced: bool = False) -> list[Obstacle]:
    """Refuses a query whose batches cannot be replayed; what may make a replay differ is logged as a warning.

    Args:
        forced: what alters the state of a replay is warned of; a replay has to be possible all the same.

    Returns:
        What was warned of.

    Raises:
        InvalidConfiguration: batches cannot be replayed; every reason is named.
    """
    of_logs, of_plan = list(of_writer(WriterSettings.of(writer))), find_obstacles(writer._df)
    obstacles = [*of_logs, *of_plan]
    refused = [obstacle for obstacle in (of_logs if forced else obstacles) if obstacle.fatal]
    if refused:
        raise InvalidConfiguration(
            "with checkpoints at an interval, batches are replayed after a failure, and these cannot be: "
            + "; ".join(obstacle.found for obstacle in refused)
            + ".",
            "; ".join(dict.fromkeys(obstacle.action for obstacle in refused))
            + "; or leave out the interval, so that every batch is durable by itself; or start with forced=True if any "
            "state will do after a failure.",
        )
    warn_of(obstacles)
    return obstacles


@runs_beside
def check_repeatable(writer: DataStreamWriter, forced: bool = False) -> list[Obstacle]:
    """Refuses a query whose batches may have other rows when they run again, for sinks that have each row once.

    Args:
        forced: what is refused otherwise is warned of.

    Returns:
        What was warned of.

    Raises:
        InvalidConfiguration: every reason is named.
    """
    obstacles = list(dict.fromkeys([*of_writer(WriterSettings.of(writer)), *_obstacles(writer._df, feeds_state=True)]))
    refused = [obstacle for obstacle in obstacles if obstacle.fatal and not forced]
    if refused:
        raise InvalidConfiguration(
            "a sink has each row once if a batch gives the same rows when it runs again, and this query may give "
            "others: " + "; ".join(obstacle.found for obstacle in refused) + ".",
            "; ".join(dict.fromkeys(obstacle.action for obstacle in refused))
            + "; or call exactly_once(writer, forced=True), and a batch that differs fails when it runs again.",
        )
    for obstacle in obstacles:
        _log.warning(
            "A batch that runs again may have other rows than the sink has of it: %s. Do: %s.",
            obstacle.found,
            obstacle.action,
        )
    return obstacles


def check_unaligned(writer: DataStreamWriter) -> None:
    """Refuses a query of which no rows can wait.

    Raises:
        InvalidConfiguration: every reason is named.
    """
    seen = list(dict.fromkeys(_walk_unaligned(Plan.of(writer._df))))
    found = [reason for reason in seen if reason] if seen else ["no keyed function keeps state in it"]
    if str(writer._df.sparkSession.conf.get(_NO_DATA_BATCHES)).lower() == "false":
        found.append(f"{_NO_DATA_BATCHES} is false, so that rows would wait for new ones")
    if found:
        raise InvalidConfiguration(
            f"unaligned=True does not fit this query: {'; '.join(found)}.",
            "leave out unaligned, or let keyed functions keep the state: they stop when their time is up.",
        )


def check_at_least_once(writer: DataStreamWriter) -> None:
    """Refuses a query that cannot go on when rows count twice.

    Raises:
        InvalidConfiguration: it would put out less, for it has a limit; or its sink compares rows.
    """
    if _has_limit(Plan.of(writer._df)):
        raise InvalidConfiguration(
            "mode=AT_LEAST_ONCE does not fit this query: its limit() would count rows twice that it has let through, "
            "and let fewer through than it should.",
            "leave out limit(), or take EXACTLY_ONCE.",
        )
    settings = WriterSettings.of(writer)
    if settings.compares_rows:
        raise InvalidConfiguration(
            "mode=AT_LEAST_ONCE does not fit an exactly-once sink: a batch that the sink has in part comes again after "
            "a failure, its rows may differ for those that count twice, and the sink then fails it at each start.",
            "take EXACTLY_ONCE; or, for Kafka and databases, set the sink's option difference to warn, and rows that "
            "are there stay.",
        )


def keeps_state(df: DataFrame) -> bool:
    """Whether a streaming DataFrame has a stateful operator."""
    return _has_state(Plan.of(df))


def has_initial_state(df: DataFrame) -> bool:
    """Whether a keyed function of a streaming DataFrame begins with a state of its own."""
    return _has_initial_state(Plan.of(df))


def _has_initial_state(node: Plan) -> bool:
    return node.is_streaming and (node.name == INITIAL or any(map(_has_initial_state, node.children)))


def _has_state(node: Plan) -> bool:
    return node.is_streaming and (_keeps_state(node) or any(map(_has_state, node.children)))


def _has_limit(node: Plan) -> bool:
    return node.is_streaming and (node.name == "GlobalLimit" or any(map(_has_limit, node.children)))


def _walk_unaligned(node: Plan) -> Iterator[str]:
    """Why rows cannot wait; an empty text for each keyed function that can let them."""
    if not node.is_streaming:
        return
    if node.name == "KeyedConnect":
        yield f"{node.text} has a broadcast stream, whose rows cannot wait"
    elif node.name in KEYED:
        yield ""
    elif _keeps_state(node):
        yield f"{node.text} takes the time for all rows of a batch"
    if node.name == "UpdateEventTimeWatermarkColumn":
        yield f"{node.text} hands the watermark on, which would pass over rows that wait: leave out output_event_time"
    for child in node.children:
        yield from _walk_unaligned(child)


def warn_of(obstacles: Sequence[Obstacle]) -> None:
    """In the log."""
    for obstacle in obstacles:
        _log.warning(
            "After a failure, a replay %s another state than the one whose output the sink has%s: %s. Do: %s.",
            "rebuilds" if obstacle.fatal else "may rebuild",
            ", or fails" if obstacle.fatal else "",
            obstacle.found,
            obstacle.action,
        )


def find_obstacles(df: DataFrame) -> list[Obstacle]:
    """In the plan of a streaming DataFrame, as far as it leads to state: what comes after state alters none."""
    return _obstacles(df, feeds_state=False)


def _obstacles(df: DataFrame, feeds_state: bool) -> list[Obstacle]:
    plan = Plan.of(df)
    found = list(_walk(plan, feeds_state))
    if plan.may_give_time(df.sparkSession):
        found += _walk_clocks(plan, feeds_state, in_subquery=False)
    return list(dict.fromkeys(found))


def _walk(node: Plan, feeds_state: bool) -> Iterator[Obstacle]:
    if not node.is_streaming:
        if feeds_state:
            # Spark reads a static side anew for every batch.
            yield from (replace(obstacle, static=True) for obstacle in _walk_static(node))
        return
    feeds_state = feeds_state or _keeps_state(node)
    source = node.source
    if source is not None:
        yield from of_source(source.name, source.options)
    if feeds_state:
        yield from _walk_node(node)
    for child in (*node.children, *node.subqueries):
        if node.name == INITIAL and not child.is_streaming:
            yield of_initial_state()
        else:
            yield from _walk(child, feeds_state)


def _walk_static(node: Plan) -> Iterator[Obstacle]:
    """All of it: its rows go into state."""
    if node.is_leaf and not has_fixed_rows(node):
        yield of_table(node.text)
    yield from _walk_node(node)
    for child in (*node.children, *node.subqueries):
        yield from _walk_static(child)


def _walk_node(node: Plan) -> Iterator[Obstacle]:
    """One whose rows go into state."""
    yield from of_node(node)
    # Spark calls first() and its like deterministic.
    if node.name == "Aggregate":
        for expression in node.expressions:
            yield from _walk_aggregates(expression)
    if not node.expressions_deterministic:
        for expression in node.expressions:
            yield from _walk_expression(expression)


def _walk_clocks(node: Plan, feeds_state: bool, in_subquery: bool) -> Iterator[Obstacle]:
    """Times that are another one when a batch is run again. Spark calls all of them deterministic."""
    feeds_state = feeds_state or (node.is_streaming and _keeps_state(node))
    if feeds_state:
        names = CLOCKS | BATCH_TIMES if in_subquery else CLOCKS
        for expression in node.expressions:
            for text in _named(expression, names):
                yield of_clock(text, in_subquery=in_subquery, static=not node.is_streaming)
    for child in node.children:
        if node.name != INITIAL or child.is_streaming:
            yield from _walk_clocks(child, feeds_state, in_subquery)
    for plan in node.subqueries:
        yield from _walk_clocks(plan, feeds_state, in_subquery=True)


def _named(expression: Expression, names: set[str]) -> Iterator[str]:
    """The texts of all such expressions."""
    if expression.name in names:
        yield expression.text
    for child in expression.children:
        yield from _named(child, names)


def _keeps_state(node: Plan) -> bool:
    if node.name == "Join":
        return all(child.is_streaming for child in node.children)
    # A subquery becomes a join.
    return node.name in _STATEFUL or any(plan.is_streaming for plan in node.subqueries)


def _walk_aggregates(expression: Expression) -> Iterator[Obstacle]:
    if expression.name in ORDER_DEPENDENT and expression.deterministic:
        yield of_expression(expression.name, expression.text)
    for child in expression.children:
        yield from _walk_aggregates(child)


def _walk_expression(expression: Expression) -> Iterator[Obstacle]:
    """Down to what is not deterministic by itself, and not through a child."""
    if expression.deterministic or expression.name in REPLAYABLE:
        return
    inner = [child for child in expression.children if not child.deterministic]
    for child in inner:
        yield from _walk_expression(child)
    if not inner or expression.name in ORDER_DEPENDENT:
        yield of_expression(expression.name, expression.text)
