"""A checkpoint folder as the query's own code reads it, from one listing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snapline.errors import InternalError
from snapline.inspect.files import Folder, StoredFile


class ListedFiles:
    """The reads of :class:`snapline.query.Files`, on a listing: a file that was not listed does not exist. Writes are
    refused."""

    def __init__(self, folder: Folder, files: Iterable[StoredFile]) -> None:
        self._folder = folder
        self._names = {file.name for file in files}
        self._children: dict[str, set[str]] = {}
        for name in self._names:
            while name:
                name, _, child = name.rpartition("/")
                self._children.setdefault(name, set()).add(child)

    @property
    def location(self) -> str:
        return self._folder.location.rstrip("/")

    def list(self, folder: str) -> list[str]:
        return sorted(self._children.get(folder, ()))

    def walk(self, folder: str) -> Sequence[str]:
        prefix = f"{folder}/" if folder else ""
        return sorted(name.removeprefix(prefix) for name in self._names if name.startswith(prefix))

    def exists(self, name: str) -> bool:
        return name in self._names or name in self._children

    def read(self, name: str) -> bytes:
        return self._folder.read(name)

    def size(self, name: str) -> int:
        with self._folder.open(name) as source:
            return source.size

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        with self._folder.open(name) as source:
            return source.read_at(offset, length)

    def write_new(self, name: str, data: bytes) -> None:
        raise self._refused(name)

    def rename(self, source: str, target: str) -> None:
        raise self._refused(source)

    def delete(self, name: str) -> None:
        raise self._refused(name)

    def _refused(self, name: str) -> InternalError:
        return InternalError(f"{self._folder.path(name)} was to be changed while somebody only looks.", "report this.")
