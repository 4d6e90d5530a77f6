"""Which tables have the same rows whenever they are read: for static sides of a stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from snapline.plan.logical_plan import Plan, items_of

# The plan itself has the rows.
_IN_THE_PLAN = {"CommandResult", "EmptyRelation", "LocalRelation", "OneRowRelation", "Range"}

# Options of Iceberg, in lower case. A branch moves, and so may a tag.
_ICEBERG_VERSIONS = {"as-of-timestamp", "snapshot-id"}

# Where RDDs begin that hold their rows: what createDataFrame makes, and what checkpoint() and localCheckpoint() leave.
_IN_THE_RDD = {"EmptyRDD", "LocalCheckpointRDD", "ParallelCollectionRDD", "ReliableCheckpointRDD"}


def has_fixed_rows(leaf: Plan) -> bool:
    """Whether a plan has its rows in itself, or reads a version of a table."""
    if leaf.name == "LogicalRDD":
        return _is_in_memory(leaf.node.rdd())
    if leaf.name == "LogicalRelation":
        return _is_version_of_delta(leaf.node.relation())
    if leaf.name == "DataSourceV2Relation":
        version = leaf.node.timeTravelSpec()
        if not version.isEmpty():
            return _stays(version.get())
        table = str(leaf.node.table().getClass().getName())
        return is_version_of_iceberg(table, map(str, leaf.node.options().keySet()))
    return leaf.name in _IN_THE_PLAN


def is_version_of_iceberg(table: str, options: Iterable[str]) -> bool:
    """Whether options of the reader, in lower case, say which version of Iceberg's table is meant.

    Args:
        table: the class of the table: others pass over an option of that name.
    """
    return table.startswith("org.apache.iceberg.") and not _ICEBERG_VERSIONS.isdisjoint(options)


def _stays(version: Any) -> bool:
    """Whether the version in Spark's ``TimeTravelSpec`` names one state for ever; a branch or tag, which is no number,
    does not."""
    is_version = str(version.getClass().getSimpleName()) == "AsOfVersion"
    return not is_version or str(version.version()).isdecimal()


def _is_version_of_delta(relation: Any) -> bool:
    """Delta takes the version out of the options, and puts it into its list of files."""
    if not str(relation.getClass().getName()).startswith("org.apache.spark.sql.delta."):
        return False
    from py4j.protocol import Py4JError

    try:
        return bool(relation.location().isTimeTravelQuery())
    except Py4JError:
        # A Delta that has no such thing: what it would have said is not known.
        return False


def _is_in_memory(rdd: Any) -> bool:
    parents = list(items_of(rdd.dependencies()))
    if not parents:
        return str(rdd.getClass().getSimpleName()) in _IN_THE_RDD
    return all(_is_in_memory(parent.rdd()) for parent in parents)
