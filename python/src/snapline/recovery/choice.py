"""Chooses the checkpoint that a recovery takes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from snapline.errors import CheckpointDamaged, StateNotFound, hide_passwords
from snapline.folder.files import Files
from snapline.folder.interval_mark import INTERVAL_MARK
from snapline.folder.journal import REPLAY, CheckpointRef
from snapline.folder.logs import COMMITS, OFFSETS, Log, LogEntry, parse_entry
from snapline.folder.metadata import CheckpointMetadata, aside_name, folder_numbers, metadata_name, read_checkpoint

_READERS = 8

_log = logging.getLogger(__name__)


class OutOfReach(StateNotFound):
    """A checkpoint whose log entries nobody has to keep, and that has outlived them: no start can go back to it."""


class CheckpointChoice:
    """The checkpoints in a folder. Sets damaged ones aside, by a rename of ``_metadata``."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def numbers(self) -> list[int]:
        """The numbers of those that have a ``_metadata``, ascending."""
        return [number for number in folder_numbers(self._files) if self._files.exists(metadata_name(number))]

    def newest(self, oldest_batch: int = -1, prefer_checkpoint: bool = False) -> CheckpointMetadata | None:
        """The newest sound one; the damaged ones above it are quarantined, but for savepoints. None: there is none.

        Args:
            oldest_batch: checkpoints of batches below it are left alone, and not taken.
            prefer_checkpoint: savepoints are taken where there is nothing else.

        Raises:
            UnsupportedVersion: the newest is of a later version.
            StorageFailure: the file system refused.
        """
        passed_over: CheckpointMetadata | None = None
        for number in reversed(self.numbers()):
            checkpoint: CheckpointMetadata | None = None
            try:
                checkpoint = read_checkpoint(self._files, number)
                if checkpoint.batch < oldest_batch:
                    break
                self._check(checkpoint)
                if not (prefer_checkpoint and checkpoint.is_savepoint):
                    return checkpoint
                passed_over = passed_over or checkpoint
            except OutOfReach:
                continue
            except CheckpointDamaged as e:
                if checkpoint is None or not checkpoint.is_savepoint:
                    self.set_aside(number, str(e))
        return passed_over

    def by_number(self, number: int) -> CheckpointMetadata:
        """The checkpoint that the user has named; it is not quarantined.

        Raises:
            StateNotFound: there is none of that number.
            OutOfReach: Spark's logs begin after it.
            CheckpointDamaged: it is damaged.
            UnsupportedVersion: it is of a later version.
        """
        there = self.numbers()
        if number not in there:
            names = ", ".join(map(str, there)) or "none"
            raise StateNotFound(
                f"no checkpoint {number} in {self._files.location}; there is {names}.", "ask for one of those."
            )
        checkpoint = read_checkpoint(self._files, number)
        self._check(checkpoint)
        return checkpoint

    def set_aside(self, number: int, why: str) -> None:
        """Takes a checkpoint out of the choice: for one whose state turns out to be damaged when it is loaded."""
        aside = aside_name(number)
        location = hide_passwords(self._files.location)
        _log.warning("Checkpoint %d in %s is set aside as %s: %s", number, location, aside, why)
        self._files.delete(aside)
        self._files.rename(metadata_name(number), aside)

    def _check(self, checkpoint: CheckpointMetadata) -> None:
        names = list(checkpoint.handle_names())
        with ThreadPoolExecutor(_READERS) as pool:
            missing = [
                name for name, there in zip(names, pool.map(self._files.exists, names), strict=True) if not there
            ]
        if missing:
            raise self._damaged(checkpoint.ref, f"{missing[0]} and {len(missing) - 1} more of its files are missing")
        self._check_entry(checkpoint, OFFSETS, checkpoint.offsets, lambda entry: (entry.metadata, entry.offsets))
        # The ids of the states may be those of a replay, the watermark is not.
        self._check_entry(checkpoint, COMMITS, checkpoint.commit, lambda entry: entry.watermark_ms)

    def _check_entry(
        self, checkpoint: CheckpointMetadata, folder: str, text: str, content: Callable[[LogEntry], object]
    ) -> None:
        """That the log goes on from this very checkpoint, and was not written anew since."""
        log = Log(self._files, folder)
        # While a recovery is under way, the original entries of later batches are hidden.
        hidden = Log(self._files, f"{REPLAY}/{folder}")
        try:
            is_hidden = self._files.exists(hidden.name(checkpoint.batch))
            there = (hidden if is_hidden else log).read(checkpoint.batch)
        except StateNotFound:
            self._check_reach(checkpoint, log)
            raise self._damaged(checkpoint.ref, f"{log.name(checkpoint.batch)} is missing") from None
        named = parse_entry(checkpoint.batch, text.encode(), metadata_name(checkpoint.id))
        if content(there) != content(named):
            raise self._damaged(checkpoint.ref, f"{log.name(checkpoint.batch)} is not the entry it was taken with")

    def _check_reach(self, checkpoint: CheckpointMetadata, log: Log) -> None:
        """With an interval the logs are kept from the oldest checkpoint on, savepoints not counted."""
        oldest = min(log.batches(), default=None)
        is_kept = self._files.exists(INTERVAL_MARK) and not checkpoint.is_savepoint
        if oldest is not None and oldest > checkpoint.batch and not is_kept:
            raise OutOfReach(
                f"checkpoint {checkpoint.id} of batch {checkpoint.batch} in {self._files.location} is sound, and the "
                f"query's {log.folder} begin with batch {oldest} by now: it cannot go back there.",
                f"take a newer one; of this one snapline savepoint create --checkpoint {checkpoint.id} makes a "
                "savepoint, and a query in a new folder goes on from that.",
            )

    def _damaged(self, checkpoint: CheckpointRef, what: str) -> CheckpointDamaged:
        return CheckpointDamaged(
            f"checkpoint {checkpoint.id} of batch {checkpoint.batch} in {self._files.location}: {what}.",
            "take an older checkpoint (restore=), or restore the file from a backup.",
        )
