"""Recovery by exact replay (docs/notes/004-checkpoints.md): batches the sink has are run again for their state."""

from __future__ import annotations

import logging
from collections.abc import Callable

from snapline.errors import CheckpointDamaged, IncompatibleState, InternalError, hide_passwords
from snapline.folder.commit_entry import may_stay, put_back
from snapline.folder.files import Files, side_by_side
from snapline.folder.journal import JOURNAL, NO_CHECKPOINT, REPLAY, CheckpointRef, Journal, parse_journal
from snapline.folder.logs import COMMITS, OFFSETS, Log, batches_in, parse_entry

RunBatch = Callable[[int], None]
SinkHas = Callable[[int], bool]

_HIDDEN = f"{REPLAY}/hidden"
_HIDDEN_OFFSETS = f"{REPLAY}/{OFFSETS}"
_HIDDEN_COMMITS = f"{REPLAY}/{COMMITS}"

_log = logging.getLogger(__name__)


class Recovery:
    """Brings the state of a query to the batch its sink has, from a checkpoint.

    Owns ``snapline/replay`` in the checkpoint folder, and moves entries of the logs there and back. The query must not
    run. Every step may be done twice: after a crash at any point, :meth:`run` goes on where it was. After a batch has
    failed, the caller decides whether it may (:meth:`rewind`).

    In this order: journal -> entries hidden -> ``hidden`` -> for each batch: offsets revealed, run, original commit
    entry put back -> ``rebuilt`` -> journal removed -> the rest removed.

    A batch that was planned and not committed is run too, because the sink may have it already. Where the sink is known
    to, the commit entry stays, and the query goes on with the next batch. Else the entry is taken away again. The real
    sink may run the batch a second time, which makes that state again.
    Or it passes over the batch: without the first run its state would be nowhere.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._offsets = Log(files, OFFSETS)
        self._commits = Log(files, COMMITS)

    def pending(self) -> Journal | None:
        """The recovery that has begun and not ended.

        Raises:
            CheckpointDamaged: its journal cannot be read.
        """
        if not self._files.exists(JOURNAL):
            return None
        return parse_journal(self._files.read(JOURNAL), self._path(JOURNAL))

    def unfinished(self) -> int:
        """The batch that is planned and not committed, which the sink may have all the same; -1 if there is none."""
        planned, committed = self._offsets.newest(), self._commits.newest()
        return -1 if planned is None or planned == committed else planned

    @property
    def has_committed(self) -> bool:
        """Whether a batch is committed."""
        return self._commits.newest() is not None

    def clear_the_way(self) -> None:
        """Removes what a crash left of an entry that was being written.

        Spark takes a checksum beside no entry for another query's, and starts no query in a folder with half a file.
        """
        if self._offsets.newest() is None and self._commits.newest() is None:
            for folder in (OFFSETS, COMMITS):
                self._files.delete(folder)
        for log in (self._offsets, self._commits):
            newest = log.newest()
            self._files.delete(log.name(0 if newest is None else newest + 1))

    def discard_planned(self) -> None:
        """Removes the entry of a batch that is planned and not committed, as Spark does where a query starts in
        real-time mode: that batch begins anew with other rows. Nothing while a recovery is pending, which counts on it.
        """
        if self._files.exists(JOURNAL):
            return
        committed = self._commits.newest()
        for batch in reversed(self._offsets.batches()):
            if committed is None or batch > committed:
                _log.info("Batch %d is not committed, and begins anew in real-time mode.", batch)
                self._files.delete(self._offsets.name(batch))

    def run(
        self,
        checkpoint: CheckpointRef,
        run_batch: RunBatch,
        sink_has: SinkHas = lambda batch: False,
        rebuilt: Callable[[], None] = lambda: None,
    ) -> range:
        """Replays what came after a checkpoint, or goes on with it.

        A recovery from another checkpoint that has not ended is taken back first.

        Args:
            checkpoint: whose state the stores begin with; ``NO_CHECKPOINT`` for the empty state.
            run_batch: runs a batch of the query on this checkpoint folder, into a sink that keeps nothing, and returns
                when it is committed. The logs are such that it is the next one.
            sink_has: whether the sink is known to have a batch that was not committed.
            rebuilt: called when all of them have run, before the journal goes: after a crash, once more. Until then
                another checkpoint can be chosen, for the replay may fail.

        Returns:
            The batches that this recovery runs, those before a crash included.

        Raises:
            CheckpointDamaged: an entry that replay needs is missing or cannot be read. Nothing was moved.
            IncompatibleState: a replayed batch had another result than the original. The entry is gone, so that the
                next call runs it again; :meth:`abandon` takes all back.
            StorageFailure: the file system refused.
        """
        journal = self.pending()
        if journal is not None and journal.ref != checkpoint:
            _log.warning("The recovery from checkpoint %d is taken back for %d.", journal.checkpoint, checkpoint.id)
            self.abandon()
            journal = None
        if journal is None:
            self._sweep()
            journal = self._plan(checkpoint)
            if not journal.hidden:
                return journal.hidden
            self._files.write_new(JOURNAL, journal.to_bytes())
        elif self._has_torn_commit(journal):
            # A power failure that cut one file of a replay short may have done so to others of it.
            self.rewind()
        if not self._files.exists(_HIDDEN):
            self._hide(journal)
        self._replay(journal, run_batch, sink_has)
        rebuilt()
        self._files.delete(JOURNAL)
        self._sweep()
        return journal.hidden

    def rewind(self) -> None:
        """Has the next :meth:`run` replay from its checkpoint anew, which stays chosen. Nothing, if none has begun."""
        # Where this mark is missing, all entries are hidden again, and those of the replay removed.
        self._files.delete(_HIDDEN)

    def abandon(self) -> None:
        """Takes a recovery back: the logs are as they were before it. Nothing, if none has begun."""
        journal = self.pending()
        if journal is not None:
            # A crash below leads to the entries being hidden again.
            self.rewind()
            offsets, commits = self._in(_HIDDEN_OFFSETS), self._in(_HIDDEN_COMMITS)
            for batch in journal.hidden:
                if batch in offsets:
                    self._replace(f"{_HIDDEN_OFFSETS}/{batch}", self._offsets.name(batch))
                if batch in commits:
                    self._replace(f"{_HIDDEN_COMMITS}/{batch}", self._commits.name(batch))
                elif batch > journal.committed:
                    self._files.delete(self._commits.name(batch))
            self._files.delete(JOURNAL)
        self._sweep()

    def _plan(self, checkpoint: CheckpointRef) -> Journal:
        """Sees that all is there that replay needs."""
        offsets, commits = self._offsets.batches(), self._commits.batches()
        planned, committed = max(offsets, default=-1), max(commits, default=-1)
        journal = Journal(checkpoint.id, checkpoint.batch, committed, planned)
        if committed < checkpoint.batch or planned - committed not in (0, 1):
            raise CheckpointDamaged(
                f"{self._files.location} has offsets up to batch {planned} and commits up to batch {committed}, and "
                f"checkpoint {checkpoint.id} is of batch {checkpoint.batch}.",
                "restore offsets/ and commits/ from a backup, or begin a new checkpoint folder.",
            )
        first = max(checkpoint.batch, 0)
        lost = [self._offsets.name(batch) for batch in range(first, planned + 1) if batch not in set(offsets)]
        lost += [self._commits.name(batch) for batch in range(first, committed + 1) if batch not in set(commits)]
        if lost:
            which = f"checkpoint {checkpoint.id}"
            if checkpoint.id == NO_CHECKPOINT.id:
                which = "the empty state" if checkpoint == NO_CHECKPOINT else f"the state of batch {checkpoint.batch}"
            raise CheckpointDamaged(
                f"{self._path(lost[0])} and {len(lost) - 1} more entries after {which} are missing.",
                "restore them from a backup, or take a newer checkpoint (restore=).",
            )
        # One that was cut short would fail the batch, or its comparison, when others have been moved.
        needed = [(self._offsets, batch) for batch in journal.hidden]
        needed += [(self._commits, batch) for batch in journal.hidden if batch <= committed]
        side_by_side(lambda entry: entry[0].read(entry[1]), needed)
        return journal

    def _hide(self, journal: Journal) -> None:
        offsets, commits = set(self._offsets.batches()), set(self._commits.batches())
        hidden, kept = self._in(_HIDDEN_OFFSETS), self._in(_HIDDEN_COMMITS)
        # From the newest down: what Spark sees has no gap at any time.
        for batch in reversed(journal.hidden):
            if batch in commits:
                a_replays = batch in kept or batch > journal.committed
                self._put_away(self._commits.name(batch), f"{_HIDDEN_COMMITS}/{batch}", a_replays)
            if batch in offsets:
                self._put_away(self._offsets.name(batch), f"{_HIDDEN_OFFSETS}/{batch}", batch in hidden)
        hidden, kept = self._in(_HIDDEN_OFFSETS), self._in(_HIDDEN_COMMITS)
        for batch in journal.hidden:
            if batch not in hidden or (batch <= journal.committed and batch not in kept):
                raise self._lost(f"{REPLAY} has not all entries of batch {batch}")
        self._files.write_new(_HIDDEN, b"")

    def _has_torn_commit(self, journal: Journal) -> bool:
        """Whether a replay before a crash has left an entry that cannot be read."""
        revealed = set(journal.hidden) - self._in(_HIDDEN_OFFSETS)
        for batch in revealed.intersection(self._commits.batches()):
            try:
                self._commits.read(batch)
            except CheckpointDamaged:
                return True
        return False

    def _put_away(self, name: str, hidden: str, not_original: bool) -> None:
        """Hides an entry, or removes one that is a replay's, or what a rename that was cut short left of it."""
        if not_original:
            self._files.delete(name)
        else:
            self._files.rename(name, hidden)

    def _replay(self, journal: Journal, run_batch: RunBatch, sink_has: SinkHas) -> None:
        hidden, commits = self._in(_HIDDEN_OFFSETS), set(self._commits.batches())
        for batch in journal.hidden:
            if batch in hidden:
                # An entry of it that exists by now is not ours.
                commits.discard(batch)
                self._replace(f"{_HIDDEN_OFFSETS}/{batch}", self._offsets.name(batch))
            if batch not in commits:
                # A rename that was cut short may have left a checksum: it would block Spark's entry.
                self._files.delete(self._commits.name(batch))
                self._clear_beyond(batch)
                _log.info("Replaying batch %d of %d.", batch, journal.planned)
                run_batch(batch)
                self._check_run(batch)
            if batch <= journal.committed:
                self._settle(batch)
            elif not (sink_has(batch) and may_stay(self._commits.read(batch))):
                self._files.delete(self._commits.name(batch))

    def _clear_beyond(self, batch: int) -> None:
        """Later entries are hidden. An entry that exists was written since, by a driver that this one has replaced, at
        the end of its last batch. Spark would go by it."""
        for log in (self._offsets, self._commits):
            for stray in log.batches():
                if stray > batch:
                    _log.warning("%s is another driver's, and is removed.", hide_passwords(self._path(log.name(stray))))
                    self._files.delete(log.name(stray))

    def _check_run(self, batch: int) -> None:
        if not self._files.exists(self._commits.name(batch)):
            raise InternalError(f"the replay of batch {batch} ended without a commit.", "report this, with the logs.")
        # Had it gone on, the next batch would have got another range than the one that the sink has of it.
        if self._files.exists(self._offsets.name(batch + 1)):
            raise InternalError(f"the replay of batch {batch} went on to the next.", "report this, with the logs.")

    def _settle(self, batch: int) -> None:
        """Puts the original commit entry back in the place of the replayed one, and compares them."""
        name, kept = self._commits.name(batch), f"{_HIDDEN_COMMITS}/{batch}"
        original = parse_entry(batch, self._files.read(kept), self._path(kept))
        replayed = self._commits.read(batch)
        try:
            entry = put_back(original, replayed)
        except IncompatibleState:
            self._files.delete(name)
            raise
        if replayed.text != entry:
            # After a crash between these two, the batch is run again.
            self._files.delete(name)
            self._files.write_new(name, entry)

    def _sweep(self) -> None:
        """Removes what is left of a recovery that has ended: there is no journal."""
        if not self._files.exists(REPLAY):
            return
        if self._in(_HIDDEN_OFFSETS):
            raise self._lost(f"{_HIDDEN_OFFSETS} has entries, and there is no {JOURNAL}")
        self._files.delete(REPLAY)

    def _replace(self, source: str, target: str) -> None:
        """A rename over what is at the target: what a rename that was cut short left there, or a replay's entry."""
        self._files.delete(target)
        self._files.rename(source, target)

    def _in(self, folder: str) -> set[int]:
        return set(batches_in(self._files, folder))

    def _path(self, name: str) -> str:
        return f"{self._files.location}/{name}"

    def _lost(self, what: str) -> CheckpointDamaged:
        return CheckpointDamaged(
            f"in {self._files.location}, {what}.",
            "restore offsets/ and commits/ from a backup, or begin a new checkpoint folder.",
        )
