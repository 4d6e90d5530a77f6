"""Reads every byte of a checkpoint's state; says what is wrong, and what still loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from snapline.errors import IncompatibleState, SnaplineError, StateNotFound
from snapline.format.frame import Unfinished
from snapline.inspect.checkpoint import CheckpointFolder
from snapline.inspect.files import StoredFile
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
    """What was read (size in bytes) and found.

    Attributes:
        unnamed: table files that no handle names, and that therefore have no checksum.
        newest: the version the query would go on from; None before its first batch is done.
        newest_loadable: the newest it can go on from.
    """

    files: int
    bytes: int
    unnamed: int
    findings: tuple[Finding, ...]
    newest: int | None
    newest_loadable: int | None

    @property
    def damaged(self) -> bool:
        """Whether anything but leftovers was found."""
        return any(not finding.leftover for finding in self.findings)


def verify(checkpoint: CheckpointFolder, progress: Callable[[StoredFile], None] = lambda file: None) -> Verification:
    """Reads all files of all stores; ``progress`` is called after each, from several threads."""
    checks = [StoreCheck(store, progress) for store in checkpoint.stores]
    with ThreadPoolExecutor(_READERS) as pool:
        list(pool.map(StoreCheck.run, checks))
    findings = [Finding(checkpoint.location, problem) for problem in checkpoint.problems]
    findings += [_missing(str(key)) for operator in checkpoint.operators for key in operator.missing]
    if checkpoint.foreign:
        findings.append(_mixed(checkpoint.foreign))
    for check in checks:
        findings += _judge(checkpoint, check)
    files = [file for store in checkpoint.stores for file in store.files.own]
    return Verification(
        files=len(files),
        bytes=sum(file.size for file in files),
        unnamed=sum(check.unnamed for check in checks),
        findings=tuple(findings),
        newest=checkpoint.newest,
        newest_loadable=checkpoint.newest_loadable(),
    )


def _judge(checkpoint: CheckpointFolder, check: StoreCheck) -> Iterator[Finding]:
    """Half a file is no damage where every version that may be asked for loads without it."""
    lost = [version for version in _required(checkpoint) if not checkpoint.store_loads(check.store, version)]
    for where, error in check.failures:
        yield Finding(where, error, leftover=isinstance(error, Unfinished) and not lost)
    if lost:
        try:
            check.store.resolve(lost[-1], checkpoint.uids(lost[-1]).get(check.store.key))
        except SnaplineError as e:
            yield Finding(str(check.store.key), e)


def _required(checkpoint: CheckpointFolder) -> list[int]:
    """The versions that Spark may ask for."""
    batches = checkpoint.log.commits
    return [batch + 1 for batch in batches[_ON_THEIR_WAY_OUT:] or batches[-1:]]


def _missing(store: str) -> Finding:
    error = StateNotFound(f"{store} has no files, and Spark's metadata names it.", "restore its folder from a backup.")
    return Finding(store, error)


def _mixed(foreign: list[StoredFile]) -> Finding:
    error = IncompatibleState(
        f"{foreign[0].name} and {len(foreign) - 1} more files of Spark's own provider lie among those of Snapline.",
        "use one provider for one checkpoint: start the query with a new checkpoint folder.",
    )
    return Finding(foreign[0].name, error)
