"""A checkpoint in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from snapline.format import HandleMeta
from snapline.inspect.checkpoint import CheckpointFolder, Operator
from snapline.inspect.numbered import NumberedCheckpoint, ReplayProgress, Restart


@dataclass(frozen=True)
class SnapshotSummary:
    """The snapshots of one version of an operator, over all its stores; sizes in bytes.

    ``uploaded_bytes`` is what they wrote themselves; the rest of ``state_bytes`` was there already. Both count the
    handles, in which small state lies. ``uploaded_files`` are table files.
    """

    version: int
    stores: int
    state_bytes: int
    uploaded_bytes: int
    uploaded_files: int


@dataclass(frozen=True)
class OperatorSummary:
    """One operator; sizes in bytes. ``loadable`` are the versions that all its stores load."""

    operator: int
    name: str
    stores: int
    partitions: int
    missing_stores: int
    newest: int | None
    loadable: tuple[int, ...]
    files: int
    bytes: int
    changelogs: int
    changelog_bytes: int
    snapshots: tuple[SnapshotSummary, ...]

    @property
    def bytes_per_changelog(self) -> float | None:
        """On average; None if there is none."""
        return self.changelog_bytes / self.changelogs if self.changelogs else None


@dataclass(frozen=True)
class NumberedSummary:
    """A numbered checkpoint. Times in ms since 1970, duration in ms, sizes in bytes; None where it cannot be read.

    Attributes:
        kind: ``checkpoint`` or ``savepoint``.
        duration: the time from the planning of its batch to the acknowledgement of its last store.
        stores: number of partitions of stores that it holds.
        state_size: size of all files that a load reads; ``checkpointed_size``: of those that it wrote itself.
        found: its damage, as a text; None: there is none.
    """

    id: int
    status: str
    found: str | None = None
    kind: str | None = None
    properties: str | None = None
    batch: int | None = None
    triggered: int | None = None
    completed: int | None = None
    duration: int | None = None
    stores: int | None = None
    state_size: int | None = None
    checkpointed_size: int | None = None


@dataclass(frozen=True)
class CheckpointSummary:
    """A checkpoint folder.

    Attributes:
        newest_loadable: the newest version from which the query can go on.
        restart: where a start begins if state is stored at checkpoints only, and may lag behind the logs; else None.
        replay: the recovery that has begun.
    """

    location: str
    query_id: str | None
    newest_offset: int | None
    newest_commit: int | None
    newest_loadable: int | None
    operators: tuple[OperatorSummary, ...]
    restart: Restart | None
    replay: ReplayProgress | None
    checkpoints: tuple[NumberedSummary, ...]


def summarize(checkpoint: CheckpointFolder) -> CheckpointSummary:
    """Reads metas only.

    Raises:
        StorageFailure: the file system refused.
    """
    checkpoint.read_metas()
    log = checkpoint.log
    numbered = checkpoint.numbered.read()
    return CheckpointSummary(
        checkpoint.location,
        checkpoint.query_id,
        log.offsets[-1] if log.offsets else None,
        log.commits[-1] if log.commits else None,
        checkpoint.newest_loadable(),
        tuple(_operator(operator) for operator in checkpoint.operators),
        checkpoint.numbered.restart(numbered),
        checkpoint.numbered.replay(),
        tuple(map(summarize_numbered, numbered)),
    )


def summarize_numbered(checkpoint: NumberedCheckpoint) -> NumberedSummary:
    """In numbers."""
    found = None if checkpoint.error is None else checkpoint.error.found
    meta = checkpoint.metadata
    if meta is None:
        return NumberedSummary(checkpoint.id, checkpoint.status.value, found)
    return NumberedSummary(
        checkpoint.id,
        checkpoint.status.value,
        found,
        "savepoint" if meta.is_savepoint else "checkpoint",
        meta.properties,
        meta.batch,
        meta.triggered,
        meta.completed,
        meta.acknowledged - meta.triggered,
        sum(1 for _ in meta.handles()),
        meta.state_size,
        meta.checkpointed_size,
    )


def _operator(operator: Operator) -> OperatorSummary:
    stores = operator.stores
    own = [file for store in stores for file in store.files.own]
    members = [member for store in stores for member in store.files.members.values()]
    changelogs = [file for store in stores for file in store.files.changelogs.values()]
    loadable = set.intersection(*(set(store.loadable_versions()) for store in stores)) if stores else set()
    return OperatorSummary(
        operator=operator.id,
        name=operator.name,
        stores=len(stores),
        partitions=len({store.key.partition for store in stores}),
        missing_stores=len(operator.missing),
        newest=max((ref.version for store in stores for ref in store.files.refs), default=None),
        loadable=tuple(sorted(loadable)),
        files=len(own),
        bytes=sum(file.size for file in own) + sum(member.length for _, member in members),
        changelogs=len(changelogs),
        changelog_bytes=sum(file.size for file in changelogs),
        snapshots=_snapshots(
            [(meta, store.files.handle(meta.ref)[1]) for store in stores for meta in store.snapshots()]
        ),
    )


def _snapshots(found: list[tuple[HandleMeta, int]]) -> tuple[SnapshotSummary, ...]:
    """Sums over metas, and over the bytes of the handles that they are in."""
    by_version: dict[int, list[tuple[HandleMeta, int]]] = {}
    for meta, length in found:
        by_version.setdefault(meta.ref.version, []).append((meta, length))
    return tuple(
        SnapshotSummary(
            version,
            len(each),
            sum(meta.state_bytes + length for meta, length in each),
            sum(meta.uploaded_bytes + length for meta, length in each),
            sum(meta.uploaded_files for meta, _ in each),
        )
        for version, each in sorted(by_version.items())
    )
