"""Handles: a snapshot of one version, and the table files it needs (docs/FORMAT.md, section 4)."""

from __future__ import annotations

from snapline.format.frame import FrameReader, damaged
from snapline.format.meta import HandleMeta, parse_handle_meta
from snapline.format.names import Kind, VersionRef
from snapline.format.source import Source


class HandleReader:
    """Reads one handle. Does not own the source.

    Raises:
        CheckpointDamaged: anything does not add up, here or while the local files are read.
        UnsupportedVersion: the format number is unknown.
    """

    def __init__(self, source: Source, expected: VersionRef | None = None) -> None:
        self._path = source.path
        self._frame = FrameReader(source, Kind.HANDLE)
        self.size = self._frame.size
        self.meta: HandleMeta = parse_handle_meta(self._frame.meta, self._path)
        if expected is not None and self.meta.ref != expected:
            raise damaged(self._path, f"it holds version {self.meta.ref}")

    def read_local_files(self) -> dict[str, bytes]:
        """The small files of the backend by name."""
        blocks = list(self._frame.read_blocks())
        if [len(block) for block in blocks] != [length for _, length in self.meta.local]:
            raise damaged(self._path, "its blocks are not the files it names")
        return {name: block for (name, _), block in zip(self.meta.local, blocks, strict=True)}
