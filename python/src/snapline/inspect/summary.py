"""A checkpoint in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from snapline.format import HandleMeta
from snapline.inspect.checkpoint import CheckpointFolder, Operator


@dataclass(frozen=True)
class SnapshotSummary:
    """The snapshots of one version of an operator, over all its stores; sizes in bytes.

    ``uploaded_bytes`` is what they wrote themselves; the rest of ``state_bytes`` was there already.
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
class CheckpointSummary:
    """A checkpoint. ``newest_loadable`` is the newest version from which the query can go on."""

    location: str
    query_id: str | None
    newest_offset: int | None
    newest_commit: int | None
    newest_loadable: int | None
    operators: tuple[OperatorSummary, ...]


def summarize(checkpoint: CheckpointFolder) -> CheckpointSummary:
    """Reads metas only.

    Raises:
        StorageFailure: the file system refused.
    """
    checkpoint.read_metas()
    log = checkpoint.log
    return CheckpointSummary(
        checkpoint.location,
        checkpoint.query_id,
        log.offsets[-1] if log.offsets else None,
        log.commits[-1] if log.commits else None,
        checkpoint.newest_loadable(),
        tuple(_operator(operator) for operator in checkpoint.operators),
    )


def _operator(operator: Operator) -> OperatorSummary:
    stores = operator.stores
    own = [file for store in stores for file in store.files.own]
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
        bytes=sum(file.size for file in own),
        changelogs=len(changelogs),
        changelog_bytes=sum(file.size for file in changelogs),
        snapshots=_snapshots([meta for store in stores for meta in store.snapshots()]),
    )


def _snapshots(metas: list[HandleMeta]) -> tuple[SnapshotSummary, ...]:
    by_version: dict[int, list[HandleMeta]] = {}
    for meta in metas:
        by_version.setdefault(meta.ref.version, []).append(meta)
    return tuple(
        SnapshotSummary(
            version,
            len(each),
            sum(meta.state_bytes for meta in each),
            sum(meta.uploaded_bytes for meta in each),
            sum(meta.uploaded_files for meta in each),
        )
        for version, each in sorted(by_version.items())
    )
