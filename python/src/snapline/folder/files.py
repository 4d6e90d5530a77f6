"""The files of a checkpoint folder, as far as a recovery reads, moves and writes them."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from snapline.errors import SnaplineError, StateNotFound, StorageFailure

_AT_ONCE = 16

T = TypeVar("T")


class Files(Protocol):
    """A checkpoint folder. Every method may raise StorageFailure.

    Names are relative to it, ``/`` between parts; an empty one is the folder itself.

    Hadoop keeps a checksum ``.name.crc`` beside a file of a local file system. It belongs to the file: it goes where
    the file goes, and away with it. One that stays behind blocks Spark's next write of that name.
    """

    @property
    def location(self) -> str:
        """The folder, for messages."""

    def list(self, folder: str) -> list[str]:
        """Names of what lies directly in a folder, in order, hidden ones left out; empty if there is no such folder."""

    def walk(self, folder: str) -> Sequence[str]:
        """All files below a folder, relative to it, in order; without hidden ones and what lies in hidden folders."""

    def exists(self, name: str) -> bool:
        """Whether a file or a folder is there."""

    def read(self, name: str) -> bytes:
        """A small file, whole.

        Raises:
            StateNotFound: it does not exist.
        """

    def size(self, name: str) -> int:
        """The length of a file, in bytes.

        Raises:
            StateNotFound: it does not exist.
        """

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes of a file, which has them.

        Raises:
            StateNotFound: it does not exist.
        """

    def write_new(self, name: str, data: bytes) -> None:
        """Makes a file that appears whole or not at all, and the folders it lies in.

        Raises:
            StorageFailure: there is one of that name.
        """

    def rename(self, source: str, target: str) -> None:
        """Moves a file, and makes the folders it goes to. Nothing is ever overwritten.

        Raises:
            StateNotFound: there is no source.
            StorageFailure: there is a target.
        """

    def delete(self, name: str) -> None:
        """Removes a file, or a folder with all that is in it; of a file that is not there, what was left behind."""


class LocalFiles:
    """A folder of this machine, without a JVM."""

    def __init__(self, location: str | os.PathLike[str]) -> None:
        self._base = Path(location).absolute()

    @property
    def location(self) -> str:
        return str(self._base)

    def list(self, folder: str) -> list[str]:
        with _translate("list", self._path(folder)):
            try:
                return sorted(path.name for path in self._path(folder).iterdir() if not path.name.startswith("."))
            except FileNotFoundError:
                return []

    def walk(self, folder: str) -> Sequence[str]:
        base = self._path(folder)
        with _translate("list", base):
            found = [path.relative_to(base) for path in base.rglob("*") if path.is_file()]
        return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))

    def exists(self, name: str) -> bool:
        return self._path(name).exists()

    def read(self, name: str) -> bytes:
        with _translate("read", self._path(name)):
            return self._path(name).read_bytes()

    def size(self, name: str) -> int:
        with _translate("look for", self._path(name)):
            return self._path(name).stat().st_size

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        with _translate("read", self._path(name)), self._path(name).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def write_new(self, name: str, data: bytes) -> None:
        path = self._path(name)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4()}.tmp")
        with _translate("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                checksum_path(path).unlink(missing_ok=True)
                # A link, unlike a rename, fails where there is one already.
                path.hardlink_to(temporary)
            except FileExistsError:
                raise already_there(str(path)) from None
            finally:
                temporary.unlink()

    def rename(self, source: str, target: str) -> None:
        old, new = self._path(source), self._path(target)
        with _translate("rename", old):
            if not old.exists():
                raise not_there(str(old))
            if new.exists():
                raise already_there(str(new))
            new.parent.mkdir(parents=True, exist_ok=True)
            # The checksum first: what a crash leaves behind then lies beside no file of that name that Spark may write.
            if checksum_path(old).exists():
                checksum_path(old).replace(checksum_path(new))
            else:
                checksum_path(new).unlink(missing_ok=True)
            old.rename(new)

    def delete(self, name: str) -> None:
        path = self._path(name)
        with _translate("delete", path):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
                checksum_path(path).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._base / name


class FileSource:
    """A file of a checkpoint folder for a reader of framed files."""

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._name = name
        self.path = f"{files.location}/{name}"
        self.size = files.size(name)

    def read_at(self, offset: int, length: int) -> bytes:
        return self._files.read_at(self._name, offset, length)


def side_by_side(act: Callable[[T], object], items: Iterable[T]) -> None:
    """Reads or writes small files that do not wait for one another: a store that is far away answers slowly, and many
    at once.

    Raises:
        what ``act`` does, when all that was begun has ended.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(act, items):
            pass


def checksum_path(path: Path) -> Path:
    """Where Hadoop keeps the checksum of a file."""
    return path.with_name(f".{path.name}.crc")


def already_there(path: str) -> StorageFailure:
    """The error for a name that is taken."""
    return StorageFailure(f"{path} exists already.", "see that no second driver uses this checkpoint, and start again.")


def not_there(path: str) -> StateNotFound:
    """The error for a file that is missing."""
    return StateNotFound(f"{path} does not exist.", "check the path, and that nobody removes files of a checkpoint.")


@contextmanager
def _translate(act: str, path: Path) -> Iterator[None]:
    try:
        yield
    except SnaplineError:
        raise
    except FileNotFoundError:
        raise not_there(str(path)) from None
    except OSError as e:
        raise StorageFailure(f"could not {act} {path}: {e}.", "check its permissions, and the space left.") from e
