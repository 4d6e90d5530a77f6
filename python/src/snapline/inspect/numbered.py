"""The numbered checkpoints of a folder (docs/FORMAT.md, section 9), and what a restart would do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from snapline.errors import SnaplineError, StateNotFound, StorageFailure
from snapline.folder.interval_mark import INTERVAL_MARK, durable_before
from snapline.folder.journal import JOURNAL, REPLAY, Journal, parse_journal
from snapline.folder.logs import COMMITS, OFFSETS, batches_in
from snapline.folder.metadata import (
    CheckpointMetadata,
    aside_name,
    folder_numbers,
    metadata_name,
    parse_checkpoint,
    read_checkpoint,
)
from snapline.format import Kind
from snapline.format.frame import FrameReader, Unfinished
from snapline.format.source import BytesSource
from snapline.inspect.listed_files import ListedFiles
from snapline.recovery.choice import CheckpointChoice, OutOfReach
from snapline.recovery.stored_changes import StoredChanges

Read = Callable[[int], CheckpointMetadata]


class Status(str, Enum):
    """The status of a checkpoint.

    ``out of reach``: it is sound, and Spark's logs begin after it, so that a restart passes over it;
    ``damaged``: a restart passes over it, too; ``set aside``: one has done so, by a rename of its ``_metadata``;
    ``incomplete``: it has no whole ``_metadata``, so that it does not exist (yet).
    """

    COMPLETE = "complete"
    OUT_OF_REACH = "out of reach"
    DAMAGED = "damaged"
    SET_ASIDE = "set aside"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class NumberedCheckpoint:
    """One number. ``metadata`` is None where there is none that can be read, ``error`` where nothing is wrong."""

    id: int
    status: Status
    metadata: CheckpointMetadata | None
    error: SnaplineError | None = field(default=None, compare=False)

    @property
    def file_name(self) -> str:
        """Its ``_metadata``, relative to the checkpoint folder."""
        return aside_name(self.id) if self.status is Status.SET_ASIDE else metadata_name(self.id)


@dataclass(frozen=True)
class ReplayProgress:
    """A recovery that has begun: ``done`` of ``total`` batches after checkpoint ``checkpoint`` have been run again.

    Attributes:
        batch: the one that is next, or under way; None when all are done.
        planned: the last.
    """

    checkpoint: int
    batch: int | None
    planned: int
    done: int
    total: int


@dataclass(frozen=True)
class Restart:
    """Where a recovery begins: with a checkpoint, or with what was durable before there was an interval.

    Attributes:
        checkpoint: its number; None for the latter.
        batch: whose state it begins with; -1 for the empty state.
        lag: how many batches that the sink has came after it.
        changelogs: how many of the batches up to ``batch`` came after the checkpoint: their changelogs are in storage.
    """

    checkpoint: int | None
    batch: int
    lag: int
    changelogs: int = 0


def newest_complete(found: Sequence[NumberedCheckpoint]) -> CheckpointMetadata | None:
    """None: there is none."""
    return next((each.metadata for each in reversed(found) if each.status is Status.COMPLETE), None)


class NumberedCheckpoints:
    """Reads below ``snapline/``, and the logs. Everything is as it was when it was listed.

    Attributes:
        interval: whether the query was started with an interval: its state may lag behind its logs.
        durable: the newest batch whose state was durable by itself before that; -1 if there is none.

    Raises:
        StorageFailure: the file system refused.
    """

    def __init__(self, files: ListedFiles) -> None:
        self._files = files
        self._choice = CheckpointChoice(files)
        self.interval = files.exists(INTERVAL_MARK)
        self.durable = durable_before(files).batch

    def read(self, *, thoroughly: bool = True) -> list[NumberedCheckpoint]:
        """All, ascending.

        Args:
            thoroughly: look also for the handles that each names, and compare it with the logs.
        """
        numbers = folder_numbers(self._files)
        read = self._choice.by_number if thoroughly else partial(read_checkpoint, self._files)
        return [found for number in numbers if (found := self._read_one(number, read)) is not None]

    def restart(self, found: Sequence[NumberedCheckpoint]) -> Restart | None:
        """Where a start begins, with these checkpoints. None: it goes on from the newest version, as without any."""
        if not self.interval:
            return None
        newest = newest_complete(found)
        number, batch, changelogs = None, self.durable, 0
        if newest is not None and newest.batch >= batch:
            number, batch = newest.id, self._loaded_of(newest)
            changelogs = batch - newest.batch
        committed = self.newest_committed()
        return Restart(number, batch, max(0, (-1 if committed is None else committed) - batch), changelogs)

    def _loaded_of(self, checkpoint: CheckpointMetadata) -> int:
        """The batch whose state a restart loads from it, and from the changelogs after it."""
        journal = self.journal()
        if journal is None:
            return StoredChanges(self._files).newest_batch(checkpoint)
        return journal.batch if journal.checkpoint == checkpoint.id else checkpoint.batch

    def newest_committed(self) -> int | None:
        """The newest batch whose output the sink has, also while a recovery hides it."""
        journal = self.journal()
        return max(batches_in(self._files, COMMITS), default=None) if journal is None else journal.committed

    def newest_planned(self) -> int | None:
        """The newest batch whose input is fixed, also while a recovery hides it."""
        journal = self.journal()
        return max(batches_in(self._files, OFFSETS), default=None) if journal is None else journal.planned

    def journal(self) -> Journal | None:
        """The recovery that has begun and not ended. None also where its journal cannot be read."""
        if not self._files.exists(JOURNAL):
            return None
        try:
            return parse_journal(self._files.read(JOURNAL), JOURNAL)
        except StorageFailure:
            raise
        except SnaplineError:
            return None

    def replay(self) -> ReplayProgress | None:
        """How far that recovery is."""
        journal = self.journal()
        if journal is None:
            return None
        batches = list(journal.hidden)
        waiting = set(batches_in(self._files, f"{REPLAY}/{OFFSETS}"))
        committed = set(batches_in(self._files, COMMITS))
        # The offsets of the batch under way are revealed, and there is no commit yet.
        left = [batch for batch in batches if batch in waiting or batch not in committed]
        if not self._files.exists(f"{REPLAY}/hidden"):
            left = batches
        next_batch = left[0] if left else None
        return ReplayProgress(journal.checkpoint, next_batch, journal.planned, len(batches) - len(left), len(batches))

    def _read_one(self, number: int, read: Read) -> NumberedCheckpoint | None:
        name = metadata_name(number)
        if not self._files.exists(name):
            return self._without(number)
        try:
            return NumberedCheckpoint(number, Status.COMPLETE, read(number))
        except StorageFailure:
            raise
        except OutOfReach as e:
            return NumberedCheckpoint(number, Status.OUT_OF_REACH, read_checkpoint(self._files, number), e)
        except StateNotFound:
            # Subsumed since it was listed.
            return None
        except SnaplineError as e:
            return self._failed(number, e)

    def _failed(self, number: int, error: SnaplineError) -> NumberedCheckpoint:
        name = metadata_name(number)
        try:
            data = self._files.read(name)
            try:
                FrameReader(BytesSource(data, name), Kind.CHECKPOINT)
            except Unfinished as e:
                return NumberedCheckpoint(number, Status.INCOMPLETE, None, e)
            return NumberedCheckpoint(number, Status.DAMAGED, parse_checkpoint(data, name), error)
        except StorageFailure:
            raise
        except SnaplineError:
            return NumberedCheckpoint(number, Status.DAMAGED, None, error)

    def _without(self, number: int) -> NumberedCheckpoint:
        aside = aside_name(number)
        if not self._files.exists(aside):
            return NumberedCheckpoint(number, Status.INCOMPLETE, None)
        try:
            return NumberedCheckpoint(number, Status.SET_ASIDE, parse_checkpoint(self._files.read(aside), aside))
        except StorageFailure:
            raise
        except SnaplineError as e:
            return NumberedCheckpoint(number, Status.SET_ASIDE, None, e)
