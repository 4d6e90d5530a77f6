"""The state of a query as of one batch, in its checkpoint folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snapline.errors import CheckpointDamaged, IncompatibleState, NotACheckpoint, StateNotFound
from snapline.query.choice import CheckpointChoice
from snapline.query.files import Files
from snapline.query.interval_mark import INTERVAL_MARK, durable_before
from snapline.query.journal import JOURNAL
from snapline.query.logs import COMMITS, OFFSETS, Log, LogEntry, parse_entry
from snapline.query.metadata import CheckpointMetadata, metadata_name
from snapline.savepoint.java_api import java_savepoints, translate
from snapline.savepoint.layout import OperatorLayout, StateKey, parse_operators

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Uids = Mapping[tuple[int, str, int], str]


@dataclass(frozen=True)
class CheckpointState:
    """Where it is, and how to read it.

    Attributes:
        location: the checkpoint folder.
        checkpoint: the numbered checkpoint; None: what the newest batch left.
        version: of every store.
        planned: the batch after it, if it was planned and not committed.
        uids: the attempt to read, by operator, store and partition; empty: whichever is the latest.
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
        """What the query was set to, for the jar."""
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


def find_state(session: SparkSession, files: Files, checkpoint: int | None = None) -> CheckpointState:
    """The state of a numbered checkpoint; without a number the newest that is whole.

    Raises:
        NotACheckpoint: the folder is no checkpoint of a query.
        IncompatibleState: the checkpoint is of more than one batch (``AT_LEAST_ONCE``).
        StateNotFound: nothing was committed yet, or there is no checkpoint of that number.
        CheckpointDamaged: what is needed is missing or cannot be read.
    """
    if not files.exists(OFFSETS) or not files.exists(COMMITS):
        raise NotACheckpoint(
            f"{files.location} has not both {OFFSETS}/ and {COMMITS}/.", "give the checkpointLocation of a query."
        )
    chosen = _numbered(files, checkpoint)
    planned: LogEntry | None = None
    if chosen is not None:
        _check_is_of_one_batch(files, chosen)
        texts = (chosen.offsets, chosen.commit)
        offsets, commit = (parse_entry(chosen.batch, text.encode(), metadata_name(chosen.id)) for text in texts)
        uids: Uids = {(o.id, s.name, h.partition): h.ref.uid for o, s, h in chosen.handles()}
        version = next((handle.ref.version for _, _, handle in chosen.handles()), chosen.batch + 1)
        number: int | None = chosen.id
    else:
        offsets, commit, planned = _newest(files)
        version, number, uids = offsets.batch + 1, None, {}
    if "conf" not in offsets.metadata:
        raise CheckpointDamaged(
            f"{files.location}/{OFFSETS}/{offsets.batch} has no settings.", "run the query for a batch on Spark 4.2."
        )
    with translate(f"read the operators of {files.location}"):
        text = java_savepoints(session).operators(
            session._jsparkSession, files.location, offsets.batch, offsets.text.decode().split("\n")[1]
        )
    operators = parse_operators(str(text))
    if not uids:
        uids = dict(_committed_uids(operators, commit.state_ids))
    return CheckpointState(files.location, offsets.batch, number, version, offsets, commit, planned, uids, operators)


def _numbered(files: Files, checkpoint: int | None) -> CheckpointMetadata | None:
    choice = CheckpointChoice(files)
    if checkpoint is not None:
        return choice.by_number(checkpoint)
    if not files.exists(INTERVAL_MARK):
        return None
    if files.exists(JOURNAL):
        raise StateNotFound(
            f"a recovery of {files.location} has begun and not ended: its state is behind its sink.",
            "start the query with snapline.start, which ends it; or give the number of a checkpoint.",
        )
    numbers = choice.numbers()
    newest = choice.by_number(numbers[-1]) if numbers else None
    base = durable_before(files).batch
    if newest is None and base < 0:
        raise StateNotFound(
            f"{files.location} has no complete checkpoint yet, and its batches are durable at checkpoints only.",
            "wait for the first, or start the query with snapline.start without an interval for a moment.",
        )
    return newest if newest is not None and newest.batch >= base else None


def _check_is_of_one_batch(files: Files, checkpoint: CheckpointMetadata) -> None:
    if checkpoint.ahead:
        raise IncompatibleState(
            f"checkpoint {checkpoint.id} of {files.location} was taken AT_LEAST_ONCE: {checkpoint.ahead} of its "
            f"{sum(1 for _ in checkpoint.handles())} snapshots hold batches after batch {checkpoint.batch}.",
            "take a savepoint of the running query (query.savepoint): it is of one batch.",
        )


def _newest(files: Files) -> tuple[LogEntry, LogEntry, LogEntry | None]:
    """Offsets and commit of the newest batch whose state is durable by itself, and the one planned after it."""
    offsets, commits = Log(files, OFFSETS), Log(files, COMMITS)
    committed = commits.newest()
    if committed is None:
        raise StateNotFound(f"no batch of {files.location} was committed.", "wait for the first.")
    batch = durable_before(files).batch if files.exists(INTERVAL_MARK) else committed
    is_planned = batch == committed and offsets.newest() == committed + 1
    return offsets.read(batch), commits.read(batch), offsets.read(batch + 1) if is_planned else None


def _committed_uids(operators: tuple[OperatorLayout, ...], ids: Any) -> Uids:
    """In checkpoint format 2 the commit names the attempt of each store."""
    found: dict[tuple[int, str, int], str] = {}
    for operator in operators if ids else ():
        for partition, stores in enumerate(ids.get(str(operator.id), ())):
            for store, uid in zip(operator.stores_in_commits, stores, strict=False):
                found[operator.id, store, partition] = uid
    return found
