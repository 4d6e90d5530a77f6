"""Tells the states that Spark's own state stores can take over."""

from __future__ import annotations

from collections.abc import Sequence

from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.savepoint.layout import OperatorLayout
from snapline.savepoint.matching import RestoredOperator
from snapline.savepoint.metadata import NATIVE, SavepointMetadata
from snapline.spark_line import has_empty_stores, spark_line

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
#: By the name on the command line.
PROVIDERS = {"rocksdb": ROCKSDB}

# A function of Snapline keeps timers of both domains; one of Spark's has one time mode, or none.
_BOTH_TIMERS = {"$eventTimers_timestampToKey", "$procTimers_timestampToKey"}


def provider_class(name: str) -> str:
    """
    Raises:
        InvalidConfiguration: there is no such provider, or it cannot be written.
    """
    if name == "hdfs":
        raise InvalidConfiguration(
            "Spark's HDFS-backed state store cannot begin at a later version than 0 (it has no loadEmpty), and a "
            "restored query does.",
            "export to rocksdb.",
        )
    if not has_empty_stores():
        raise InvalidConfiguration(
            f"Spark {spark_line()}'s own stores cannot begin at a later version than 0, as a restored query does.",
            "export on Spark 4.2 or later, or restore the savepoint.",
        )
    if name not in PROVIDERS:
        raise InvalidConfiguration(f"the provider {name!r} is not known.", f"use {' or '.join(PROVIDERS)}.")
    return PROVIDERS[name]


def check_export(metadata: SavepointMetadata, restored: Sequence[RestoredOperator], provider: str) -> None:
    """
    Raises:
        IncompatibleState: the savepoint is native, or an operator does not run on that state store; all are named.
    """
    if metadata.format == NATIVE:
        raise IncompatibleState(
            "a native savepoint has the files of Snapline's state store, which no other one reads.",
            "take a canonical one.",
        )
    own = [each.title for each in restored if is_snaplines(each.layout)]
    if own:
        raise IncompatibleState(
            f"{', '.join(own)}: functions of Snapline, which run on its state store alone.",
            "leave their state out (operators={…: None}, --map …=), or restore the savepoint.",
        )


def is_snaplines(operator: OperatorLayout) -> bool:
    """Whether it is a function of Snapline, with a key or without."""
    names = {key.family for key in operator.states}
    return names >= _BOTH_TIMERS or operator.has_operator_state
