"""Checks the parallelism at which a savepoint can be restored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.java_api import java_savepoints
from snapline.savepoint.matching import RestoredOperator
from snapline.savepoint.metadata import SavepointMetadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_range(metadata: SavepointMetadata, wanted: int | None) -> None:
    """
    Raises:
        InvalidConfiguration: it is out of range.
    """
    if wanted is not None and not 1 <= wanted <= metadata.max_parallelism:
        raise InvalidConfiguration(
            f"the parallelism {wanted} is not between 1 and the savepoint's maximum {metadata.max_parallelism}.",
            "give a number in that range.",
        )


def check_parallelism(
    session: SparkSession, metadata: SavepointMetadata, wanted: int | None, restored: Sequence[RestoredOperator]
) -> None:
    """
    Raises:
        InvalidConfiguration: it is out of range, or the session counts key groups otherwise.
        IncompatibleState: an operator has to keep the parallelism it had.
    """
    check_range(metadata, wanted)
    here = java_savepoints(session).maxParallelism(session._jsparkSession)
    if here != metadata.max_parallelism:
        raise InvalidConfiguration(
            f"the savepoint has {metadata.max_parallelism} key groups; spark.snapline.max-parallelism is {here}.",
            f"set spark.snapline.max-parallelism to {metadata.max_parallelism}.",
        )
    fixed = [
        f"{old.title}: {why}"
        for operator in restored
        if (old := operator.old) is not None and old.parallelism != operator.partitions(wanted)
        for why in sorted(set(old.fixed.values()))
    ]
    if fixed:
        raise IncompatibleState(
            f"these operators have to keep {metadata.parallelism} partitions: {'; '.join(fixed)}.",
            f"restore with --parallelism {metadata.parallelism}.",
        )


def check_waiting(
    metadata: SavepointMetadata, wanted: int | None, restored: Sequence[RestoredOperator]
) -> tuple[int, ...]:
    """Numbers of the restored operators that rows wait in.

    Raises:
        IncompatibleState: rows wait that have no key, and would have to go elsewhere.
    """
    waiting = [each for each in restored if each.old is not None and each.old.id in metadata.in_flight]
    keyless = [
        old.title
        for each in waiting
        if (old := each.old) is not None and old.has_operator_state and old.parallelism != each.partitions(wanted)
    ]
    if keyless:
        raise IncompatibleState(
            f"rows without a key wait in the state of {', '.join(keyless)}, so that nobody knows where they belong at "
            "another parallelism.",
            "restore it at the parallelism it had, or take a savepoint without rows that wait.",
        )
    return tuple(sorted(each.id for each in waiting))
