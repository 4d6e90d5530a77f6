from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from snapline.query import Files

from ..folder.fakes import Crash


class CrashingFiles:
    """Passes all on to other files, and crashes after so many operations."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.fuse: int | None = None

    @property
    def location(self) -> str:
        return self._files.location

    def _do(self, act: str, *arguments: Any) -> Any:
        if self.fuse is not None:
            if self.fuse == 0:
                raise Crash
            self.fuse -= 1
        return getattr(self._files, act)(*arguments)

    def list(self, folder: str) -> list[str]:
        names: list[str] = self._do("list", folder)
        return names

    def walk(self, folder: str) -> Sequence[str]:
        names: Sequence[str] = self._do("walk", folder)
        return names

    def exists(self, name: str) -> bool:
        return bool(self._do("exists", name))

    def read(self, name: str) -> bytes:
        return bytes(self._do("read", name))

    def size(self, name: str) -> int:
        return int(self._do("size", name))

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        return bytes(self._do("read_at", name, offset, length))

    def write_new(self, name: str, data: bytes) -> None:
        self._do("write_new", name, data)

    def rename(self, source: str, target: str) -> None:
        self._do("rename", source, target)

    def delete(self, name: str) -> None:
        self._do("delete", name)
