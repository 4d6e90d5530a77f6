"""The changes between two savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapline.savepoint.read import read_state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def diff(
    before: str,
    after: str,
    operator: int | str | None = None,
    state: str | None = None,
    *,
    session: SparkSession | None = None,
) -> DataFrame:
    """The entries of a state that are not the same.

    A row for each: ``change`` (``added``, ``removed``, ``changed``), ``key``, and the values ``before`` and ``after``.

    Args:
        before: a savepoint or a checkpointLocation, and so is ``after``. Their parallelisms may differ.
        operator: as for :func:`read_state`, and so is ``state``.

    Raises: as :func:`read_state`.
    """
    from pyspark.sql import functions as F

    old, new = (
        read_state(path, operator, state, session=session).select(
            "key", F.col("value").alias(name), F.lit(1).alias(there)
        )
        for path, name, there in ((before, "before", "was"), (after, "after", "is"))
    )
    # A key may have a column that is null.
    both = old.withColumnRenamed("key", "old_key").join(new, F.col("old_key").eqNullSafe(F.col("key")), "full")
    change = F.when(F.col("was").isNull(), "added").when(F.col("is").isNull(), "removed").otherwise("changed")
    differ = F.col("was").isNull() | F.col("is").isNull() | ~F.col("before").eqNullSafe(F.col("after"))
    key = F.coalesce("key", "old_key").alias("key")
    return both.where(differ).select(change.alias("change"), key, "before", "after")
