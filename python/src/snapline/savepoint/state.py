"""The state of a query as of one batch, in its checkpoint folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snapline.folder.logs import COMMITS, OFFSETS, LogEntry, parse_entry
from snapline.java_api import java_savepoints, translate
from snapline.savepoint.layout import OperatorLayout, StateKey, parse_operator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Uids = Mapping[tuple[int, str, int], str]


@dataclass(frozen=True)
class CheckpointState:
    """The place of a state, and how to read it.

    Attributes:
        location: the checkpoint folder.
        checkpoint: the numbered checkpoint; None: the state that the newest batch left.
        version: the version of every store.
        planned: the batch after it, if it was planned and not committed.
        uids: the attempt to read, by operator, store and partition; empty: the latest.
    """

    location: str
    batch: int
    checkpoint: int | None
    version: int
    offsets: LogEntry
    commit: LogEntry
    planned: LogEntry | None
    uids: Uids
    operators: tuple[OperatorLayout, ...]

    @property
    def settings(self) -> str:
        """The query's settings, for the jar."""
        return self.offsets.text.decode().split("\n")[1]

    def table(self, session: SparkSession, operator: OperatorLayout, state: StateKey) -> DataFrame:
        """Its entries, with the columns partition, key_group, key and value."""
        from pyspark.sql import DataFrame

        uids = {
            partition: uid
            for (number, store, partition), uid in self.uids.items()
            if (number, store) == (operator.id, state.store)
        }
        with translate(f"read state {state.name} of {operator.title}"):
            java = java_savepoints(session).read(
                session._jsparkSession,
                self.location,
                self.version,
                self.settings,
                operator.text,
                state.store,
                state.family,
                uids,
            )
        return DataFrame(java, session)


def find_state(session: SparkSession, location: str, checkpoint: int | None = None) -> CheckpointState:
    """The state of a numbered checkpoint; without a number the newest that is whole.

    Raises:
        NotACheckpoint: the folder is no checkpoint of a query.
        IncompatibleState: the checkpoint is of more than one batch (``AT_LEAST_ONCE``).
        StateNotFound: nothing was committed yet, or there is no checkpoint of that number.
        CheckpointDamaged: what is needed is missing or cannot be read.
    """
    with translate(f"read the operators of {location}"):
        found = json.loads(java_savepoints(session).find(session._jsparkSession, location, checkpoint or 0))
    batch, planned = found["batch"], found["planned"]

    def entry(log: str, text: str, number: int = batch) -> LogEntry:
        return parse_entry(number, text.encode(), f"{found['location']}/{log}/{number}")

    return CheckpointState(
        location=found["location"],
        batch=batch,
        checkpoint=found["checkpoint"],
        version=found["version"],
        offsets=entry(OFFSETS, found["offsets"]),
        commit=entry(COMMITS, found["commit"]),
        planned=None if planned is None else entry(OFFSETS, planned, batch + 1),
        uids={(operator, store, partition): uid for operator, store, partition, uid in found["uids"]},
        operators=tuple(map(parse_operator, found["operators"])),
    )
