"""The run of a streaming query, as a function of its foreachBatch finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.java_api import java_session_internals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's own (StreamExecution).
_QUERY = "sql.streaming.queryId"


@dataclass(frozen=True)
class RunningQuery:
    """
    Attributes:
        id: the query's, the same in each run on its checkpoint folder.
        run: the id of this run, another one after each start.
        checkpoint: the checkpoint folder.
    """

    id: str
    run: str
    checkpoint: str

    @classmethod
    def of(cls, df: DataFrame) -> RunningQuery:
        """The query whose micro-batch this is.

        Spark's job group is the id of the run as well, until a function of foreachBatch sets another group.

        Raises:
            InvalidConfiguration: it is no micro-batch.
            WrongSparkVersion: the session has no jar of Snapline, or another one.
        """
        query, session = query_of(df), df.sparkSession
        found = list(java_session_internals(session).runOf(session._jsparkSession, query))
        if not found:
            raise _no_batch()
        run, checkpoint = found
        return cls(query, str(run), str(checkpoint))


def query_of(df: DataFrame) -> str:
    """The id of the streaming query whose micro-batch this is.

    Raises:
        InvalidConfiguration: it is no micro-batch.
    """
    found = df.sparkSession.sparkContext.getLocalProperty(_QUERY)
    if not found:
        raise _no_batch()
    return str(found)


def _no_batch() -> InvalidConfiguration:
    return InvalidConfiguration(
        "the rows are of no streaming query, whose batches have numbers.", "use the sink in foreachBatch."
    )
