"""A savepoint, without a JVM."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import google_crc32c
import pyarrow
import pyarrow.parquet

from snapline.errors import IncompatibleState, NotACheckpoint
from snapline.inspect.files import Folder
from snapline.inspect.listed_files import ListedFiles
from snapline.savepoint.layout import StateKey, find_operator
from snapline.savepoint.metadata import METADATA, NATIVE, UNFINISHED, SavepointFile, read_savepoint
from snapline.savepoint.verify import verify_savepoint

_READERS = 8
_CHUNK = 1 << 20


class SavepointFolder:
    """Opened once, by one listing.

    Attributes:
        metadata: what it says of itself.

    Raises:
        NotACheckpoint: the folder is no savepoint, or one that was never finished.
        CheckpointDamaged: its ``_metadata`` is damaged.
        UnsupportedVersion: it is of a later version.
        StorageFailure: the file system refused.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = Folder(path)
        listed = self.folder.list_files()
        if listed is None:
            raise NotACheckpoint(f"{self.folder.location} does not exist.", "give the folder of a savepoint.")
        self._files = ListedFiles(self.folder, listed)
        self.metadata = read_savepoint(self._files)

    @staticmethod
    def is_one(path: str | os.PathLike[str]) -> bool:
        """Whether a savepoint was written there, or begun."""
        return any(file.name in (METADATA, UNFINISHED) for file in Folder(path).list_files() or ())

    @property
    def states(self) -> list[StateKey]:
        """The states of all operators."""
        return [key for operator in self.metadata.operators for key in operator.states]

    def read(self, operator: int | str | None = None, state: str | None = None) -> pyarrow.Table:
        """The entries of a state, with the columns partition, key_group, key and value.

        Args:
            operator: number or name of the operator; None: the only one.
            state: None: the only one.

        Raises:
            StateNotFound: there is no such operator or state.
            IncompatibleState: it is a native savepoint, which has no tables.
        """
        if self.metadata.format == NATIVE:
            raise IncompatibleState(
                f"{self.folder.location} is a native savepoint: its state is files of the state store, and no table.",
                "read it with snapline.read_state, which takes a Spark session.",
            )
        layout = find_operator(self.metadata.operators, operator, self.folder.location)
        folder = layout.state(state).folder
        names = [file.name for file in self.metadata.files if file.name.rpartition("/")[0] == folder]
        tables = []
        for name in names:
            with self.folder.open(name) as source:
                tables.append(pyarrow.parquet.read_table(pyarrow.BufferReader(source.read_at(0, source.size))))
        return pyarrow.concat_tables(tables)

    def verify(self) -> None:
        """Reads every byte.

        Raises:
            CheckpointDamaged: a file is missing, has changed, or does not belong to it.
        """
        verify_savepoint(self._files, self.metadata, self._checksums)

    def _checksums(self, names: list[str]) -> list[SavepointFile]:
        with ThreadPoolExecutor(_READERS) as pool:
            return list(pool.map(self._checksum, names))

    def _checksum(self, name: str) -> SavepointFile:
        with self.folder.open(name) as source:
            crc = 0
            for at in range(0, source.size, _CHUNK):
                crc = google_crc32c.extend(crc, source.read_at(at, min(_CHUNK, source.size - at)))
            return SavepointFile(name, source.size, crc)
