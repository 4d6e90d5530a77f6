"""Reads every byte of a checkpoint's state; says what is wrong, and what still loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from snapline.errors import IncompatibleState, SnaplineError, StateNotFound
from snapline.format.frame import Unfinished
from snapline.inspect import numbered_check
from snapline.inspect.checkpoint import CheckpointFolder
from snapline.inspect.files import StoredFile
from snapline.inspect.numbered import NumberedCheckpoint, Restart, Status, newest_complete
from snapline.inspect.store_check import StoreCheck

_READERS = 8

# Clean-up of state may run ahead of Spark's clean-up of its log by this many batches.
_ON_THEIR_WAY_OUT = 2


@dataclass(frozen=True)
class Finding:
    """Something wrong at a path or in a store. A ``leftover`` is half a file of a killed task: no version needs it."""

    where: str
    error: SnaplineError
    leftover: bool = False


@dataclass(frozen=True)
class Verification:
    """The files that were read (size in bytes), and the damage found.

    Attributes:
        unnamed: table files that no handle names, and that therefore have no checksum.
        newest: the version the query would go on from; None before its first batch is done.
        newest_loadable: the newest it can go on from.
        restart: the version at which a start begins, if state is stored at checkpoints only and may lag behind the
            logs; else None.
        checkpoints: the numbered ones, ascending.
        subsumed: whether a query that runs has replaced checkpoints since it began.
    """

    files: int
    bytes: int
    unnamed: int
    findings: tuple[Finding, ...]
    newest: int | None
    newest_loadable: int | None
    restart: Restart | None
    checkpoints: tuple[NumberedCheckpoint, ...]
    subsumed: bool

    @property
    def damaged(self) -> bool:
        """Whether anything but leftovers was found."""
        return any(not finding.leftover for finding in self.findings)


def verify(checkpoint: CheckpointFolder, progress: Callable[[StoredFile], None] = lambda file: None) -> Verification:
    """Reads all files of all stores; ``progress`` is called after each, from several threads."""
    there = checkpoint.numbered.read()
    checks = [StoreCheck(store, progress) for store in checkpoint.stores]
    with ThreadPoolExecutor(_READERS) as pool:
        list(pool.map(StoreCheck.run, checks))
    checkpoint.merged.check(progress)
    numbered = numbered_check.judge(checkpoint, there)
    needs = _Needs(checkpoint, numbered)
    findings = [Finding(checkpoint.location, problem) for problem in checkpoint.problems]
    findings += list(_judge_numbered(numbered))
    if not needs.only_checkpoints:
        findings += [_missing(str(key)) for operator in checkpoint.operators for key in operator.missing]
    if checkpoint.foreign:
        findings.append(_mixed(checkpoint.foreign))
    for check in checks:
        findings += _judge(checkpoint, check, needs)
    findings += _judge_merged(checkpoint, needs)
    files = [*checkpoint.merged.files, *(file for store in checkpoint.stores for file in store.files.own)]
    return Verification(
        files=len(files),
        bytes=sum(file.size for file in files),
        unnamed=sum(check.unnamed for check in checks),
        findings=tuple(findings),
        newest=checkpoint.newest,
        newest_loadable=checkpoint.newest_loadable(),
        restart=checkpoint.numbered.restart(numbered),
        checkpoints=tuple(numbered),
        subsumed=len(numbered) < len(there),
    )


class _Needs:
    """The files of a folder that must exist.

    Attributes:
        only_checkpoints: the state after the checkpoints is nowhere, and is rebuilt by replay.
        versions: the versions that Spark may ask for.
    """

    def __init__(self, checkpoint: CheckpointFolder, numbered: Sequence[NumberedCheckpoint]) -> None:
        commits = checkpoint.log.commits
        replay = checkpoint.numbered.replay()
        under_way = replay is not None and replay.done > 0
        self.only_checkpoints = checkpoint.numbered.interval and not under_way
        self._named = numbered_check.named_files(numbered, checkpoint)
        restart = checkpoint.numbered.restart(numbered)
        if self.only_checkpoints:
            durable = restart is not None and (restart.checkpoint is None or restart.changelogs) and restart.batch >= 0
            self.versions = [restart.batch + 1] if restart is not None and durable else []
        elif under_way:
            # Replayed batches are durable, and the next goes on from the last.
            self.versions = [commits[-1] + 1] if commits else []
        else:
            # Before a checkpoint there may be batches of a time with an interval.
            newest = newest_complete(numbered)
            since = -1 if newest is None else newest.batch
            later = [batch for batch in commits[_ON_THEIR_WAY_OUT:] or commits[-1:] if batch > since]
            self.versions = [batch + 1 for batch in later]

    def names(self, file: str) -> bool:
        """Whether a checkpoint names this file."""
        return file in self._named


def _judge(checkpoint: CheckpointFolder, check: StoreCheck, needs: _Needs) -> Iterator[Finding]:
    """Half a file is no damage where every version that may be asked for loads without it."""
    lost = [version for version in needs.versions if not checkpoint.store_loads(check.store, version)]
    for where, error in check.failures:
        may_be_left_over = needs.only_checkpoints or (isinstance(error, Unfinished) and not lost)
        yield Finding(where, error, leftover=may_be_left_over and not needs.names(where))
    if lost:
        try:
            check.store.resolve(lost[-1], checkpoint.uids(lost[-1]).get(check.store.key))
        except SnaplineError as e:
            yield Finding(str(check.store.key), e)


def _judge_merged(checkpoint: CheckpointFolder, needs: _Needs) -> Iterator[Finding]:
    for name, error in checkpoint.merged.failures:
        yield Finding(name, error, leftover=not needs.names(name))


def _judge_numbered(numbered: Sequence[NumberedCheckpoint]) -> Iterator[Finding]:
    for each in numbered:
        if each.error is not None and each.status in (Status.DAMAGED, Status.INCOMPLETE):
            yield Finding(each.file_name, each.error, leftover=each.status is Status.INCOMPLETE)


def _missing(store: str) -> Finding:
    error = StateNotFound(f"{store} has no files, and Spark's metadata names it.", "restore its folder from a backup.")
    return Finding(store, error)


def _mixed(foreign: list[StoredFile]) -> Finding:
    error = IncompatibleState(
        f"{foreign[0].name} and {len(foreign) - 1} more files of Spark's own provider lie among those of Snapline.",
        "use one provider for one checkpoint: start the query with a new checkpoint folder.",
    )
    return Finding(foreign[0].name, error)
