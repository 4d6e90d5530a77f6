"""Folders of any file system that Arrow knows. Reads only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
from pyarrow import fs

from snapline.errors import InvalidConfiguration, SnaplineError, StateNotFound, StorageFailure

# Hadoop's names of file systems that Arrow knows by another.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


class StoredFile(NamedTuple):
    """A file: its name relative to the folder, ``/`` between parts, and its size in bytes."""

    name: str
    size: int


class Folder:
    """A folder and what is in it.

    Raises:
        InvalidConfiguration: the path's file system is unknown here.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.location = os.fspath(path)
        with translate_errors("open", self.location):
            self._fs, self._base = _resolve(self.location)

    def list_files(self, below: str = "") -> list[StoredFile] | None:
        """Everything below the folder, or below one in it; in order, hidden files (Hadoop's checksums) left out.

        None: there is no such folder.

        Raises:
            StorageFailure: the file system refused.
        """
        base = f"{self._base.rstrip('/')}/{below}" if below else self._base
        try:
            with translate_errors("list", self.location):
                infos = self._fs.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=False))
        except StateNotFound:
            return None
        prefix = len(self._base.rstrip("/")) + 1
        files = (StoredFile(info.path[prefix:], info.size) for info in infos if info.type == fs.FileType.File)
        return sorted(file for file in files if not file.name.rpartition("/")[2].startswith("."))

    def path(self, name: str) -> str:
        """The file's full path, for messages."""
        return f"{self.location.rstrip('/')}/{name}"

    def local_path(self, name: str) -> str | None:
        """Where the file lies on this machine; None if it does not."""
        return f"{self._base}/{name}" if isinstance(self._fs, fs.LocalFileSystem) else None

    def read(self, name: str) -> bytes:
        """A small file, whole.

        Raises:
            StateNotFound: it does not exist.
            StorageFailure: the file system refused.
        """
        with self.open(name) as source:
            return source.read_at(0, source.size)

    @contextmanager
    def open(self, name: str) -> Iterator[StoredSource]:
        """A file to read anywhere in, closed at the end of the block.

        Raises:
            StateNotFound: it does not exist.
            StorageFailure: the file system refused.
        """
        path = self.path(name)
        with translate_errors("open", path):
            stream = self._fs.open_input_file(f"{self._base}/{name}")
        try:
            with translate_errors("read", path):
                source = StoredSource(path, stream, stream.size())
            yield source
        finally:
            stream.close()


class StoredSource:
    """An open file. Owned by :meth:`Folder.open`."""

    def __init__(self, path: str, stream: Any, size: int) -> None:
        self.path = path
        self._stream = stream
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        with translate_errors("read", self.path):
            return bytes(self._stream.read_at(length, offset))


@contextmanager
def translate_errors(act: str, path: str) -> Iterator[None]:
    """Turns what Arrow raises into coded errors."""
    try:
        yield
    except SnaplineError:
        raise
    except FileNotFoundError as e:
        raise StateNotFound(
            f"{path} does not exist.", "check the path, and that nobody removes files below state/."
        ) from e
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as e:
        raise InvalidConfiguration(
            f"could not {act} {path}: {e}.", "give a local path, or a URI of a file system that pyarrow knows."
        ) from e
    except OSError as e:
        raise StorageFailure(
            f"could not {act} {path}: {e}.", "check permissions and the connection of that file system."
        ) from e


def _resolve(location: str) -> tuple[Any, str]:
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):(/.*)", location)
    if match is None:
        return fs.LocalFileSystem(), str(Path(location).absolute())
    scheme, rest = match[1].lower(), match[2]
    if scheme == "file":
        return fs.LocalFileSystem(), "/" + rest.lstrip("/")
    system, base = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}:{rest}")
    return system, base.rstrip("/")
