"""The merged files of a checkpoint folder: handles of many stores in one file (docs/FORMAT.md, section 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from snapline.errors import SnaplineError, StateNotFound, StorageFailure
from snapline.format import Member, MergedReader
from snapline.format.names import VersionRef, parse_merged_name
from snapline.inspect.files import Folder, StoredFile


class MergedFiles:
    """Reads the index of each once, when it is made.

    Attributes:
        files: those that were listed.
        failures: what is wrong, by name. A merged file that is not whole holds nothing: a task was killed.

    Raises:
        StorageFailure: the file system refused.
    """

    def __init__(self, folder: Folder, files: Iterable[StoredFile]) -> None:
        self._folder = folder
        named = [(file, ref) for file in files if (ref := parse_merged_name(file.name)) is not None]
        self.files = [file for file, _ in named]
        self.failures: list[tuple[str, SnaplineError]] = []
        self._members = {file.name: self._read(file.name, ref) for file, ref in named}

    def members(self) -> Iterator[tuple[str, Member]]:
        """Every handle, and the name of the file that it lies in."""
        for name, members in self._members.items():
            for member in members:
                yield name, member

    def check(self, progress: Callable[[StoredFile], None]) -> None:
        """Reads every byte. Damage of a file whose index could be read is noted in ``failures``."""
        for file in self.files:
            if self._members[file.name]:
                self._members_of(file.name, lambda reader: [each for each, _ in reader.read_members()])
            progress(file)

    def _read(self, name: str, ref: VersionRef) -> list[Member]:
        return self._members_of(name, lambda reader: list(reader.members), ref)

    def _members_of(
        self, name: str, read: Callable[[MergedReader], list[Member]], ref: VersionRef | None = None
    ) -> list[Member]:
        try:
            with self._folder.open(name) as source:
                return read(MergedReader(source, ref))
        except StorageFailure:
            raise
        except SnaplineError as e:
            # Or it was removed since it was listed, with the checkpoint that named it.
            if not isinstance(e, StateNotFound):
                self.failures.append((name, e))
            return []
