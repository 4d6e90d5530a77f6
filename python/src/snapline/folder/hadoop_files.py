"""The files of a checkpoint folder on any file system that Spark reaches."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapline.errors import SnaplineError, StorageFailure
from snapline.folder.files import already_there, not_there
from snapline.java_api import check_classic, java_file_systems, java_folder_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MISSING = "java.io.FileNotFoundException"


class HadoopFiles:
    """A folder through the session's Hadoop settings. Owns nothing: Hadoop keeps the file system open."""

    def __init__(self, session: SparkSession, location: str) -> None:
        check_classic(session, "a session")
        jvm: Any = session._jvm
        self._io = getattr(jvm, "org.apache.commons.io.IOUtils")
        self._new_path = getattr(jvm, "org.apache.hadoop.fs.Path")
        self._new_uri = getattr(jvm, "java.net.URI")
        self._conf: Any = session._jsparkSession.sessionState().newHadoopConf()
        with _translate("open", location):
            path = self._new_path(location)
            self._fs: Any = java_file_systems(session).of(path, self._conf)
            self._folders: Any = java_folder_names(session)
            self._base: Any = self._fs.makeQualified(path)
            # Only such a file system has side files with checksums; below it is one without.
            loader = getattr(jvm, "java.lang.Class")
            keeps_checksums = loader.forName("org.apache.hadoop.fs.ChecksumFileSystem").isInstance(self._fs)
            self._raw: Any = self._fs.getRawFileSystem() if keeps_checksums else None

    @property
    def location(self) -> str:
        return str(self._base.toString())

    def list(self, folder: str) -> list[str]:
        path = self._path(folder)
        with _translate("list", path):
            names = self._names(self._folders.list(self._fs, path))
        return sorted(name for name in names if not name.startswith("."))

    def walk(self, folder: str) -> Sequence[str]:
        base = self._path(folder)
        with _translate("list", base):
            found = self._names(self._folders.walk(self._fs, base))
        return sorted(name for name in found if _is_shown(name))

    def lengths(self, folder: str) -> dict[str, int]:
        """The files of ``walk``, and the length of each in bytes."""
        base = self._path(folder)
        with _translate("list", base):
            found = self._names(self._folders.walkWithLengths(self._fs, base))
        lengths = zip(found[::2], map(int, found[1::2]), strict=True)
        return {name: length for name, length in lengths if _is_shown(name)}

    @staticmethod
    def _names(found: str | None) -> Sequence[str]:
        return found.split("\0") if found else []

    def exists(self, name: str) -> bool:
        path = self._path(name)
        with _translate("look for", path):
            return bool(self._fs.exists(path))

    def exists_at(self, uri: str) -> bool:
        """Whether a file is there that may be on another file system."""
        with _translate("look for", uri):
            path = self._new_path(self._new_uri(uri))
            return bool(path.getFileSystem(self._conf).exists(path))

    def read(self, name: str) -> bytes:
        return self._read(name, lambda stream: self._io.toByteArray(stream))

    def size(self, name: str) -> int:
        path = self._path(name)
        try:
            with _translate("look for", path):
                return int(self._fs.getFileStatus(path).getLen())
        except _Missing:
            raise not_there(path.toString()) from None

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        def read(stream: Any) -> Any:
            stream.seek(offset)
            return self._io.toByteArray(stream, length)

        return self._read(name, read)

    def _read(self, name: str, read: Callable[[Any], Any]) -> bytes:
        path = self._path(name)
        try:
            with _translate("read", path):
                stream = self._fs.open(path)
                try:
                    return bytes(read(stream))
                finally:
                    stream.close()
        except _Missing:
            raise not_there(path.toString()) from None

    def write_new(self, name: str, data: bytes) -> None:
        path = self._path(name)
        temporary = self._new_path(path.getParent(), f".{path.getName()}.{uuid.uuid4()}.tmp")
        with _translate("write", path):
            if self._fs.exists(path):
                raise already_there(path.toString())
            stream = self._fs.create(temporary, False)
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()
            self._move(temporary, path)

    def rename(self, source: str, target: str) -> None:
        old, new = self._path(source), self._path(target)
        with _translate("rename", old):
            if not self._fs.exists(old):
                raise not_there(old.toString())
            if self._fs.exists(new):
                raise already_there(new.toString())
            self._fs.mkdirs(new.getParent())
            self._move(old, new)

    def delete(self, name: str) -> None:
        path = self._path(name)
        try:
            with _translate("delete", path):
                self._fs.delete(path, True)
                if self._raw is not None:
                    self._raw.delete(self._fs.getChecksumFile(path), False)
        except _Missing:
            return

    def _move(self, old: Any, new: Any) -> None:
        if not self._fs.rename(old, new):
            if self._fs.exists(new):
                raise already_there(new.toString())
            raise StorageFailure(f"{old.toString()} could not be renamed.", "check permissions on that file system.")

    def _path(self, name: str) -> Any:
        return self._new_path(self._base, name) if name else self._base


def _is_shown(name: str) -> bool:
    return not any(part.startswith(".") for part in name.split("/"))


class _Missing(Exception):
    """Hadoop found no such file."""


@contextmanager
def _translate(act: str, path: Any) -> Iterator[None]:
    from py4j.protocol import Py4JError, Py4JJavaError

    text = path if isinstance(path, str) else path.toString()
    try:
        yield
    except SnaplineError:
        raise
    except Py4JJavaError as e:
        cause = e.java_exception
        if cause.getClass().getName() == _MISSING:
            raise _Missing from None
        raise _failure(act, text, cause.toString()) from e
    except Py4JError as e:
        raise _failure(act, text, f"{type(e).__name__}: {e}") from e


def _failure(act: str, path: str, why: str) -> StorageFailure:
    return StorageFailure(
        f"could not {act} {path}: {why}.", "check permissions, the connection and the settings of that file system."
    )
