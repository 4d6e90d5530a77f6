"""Checks of a command's paths before a JVM is started for it: of those on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snapline.errors import NotACheckpoint, StateNotFound
from snapline.folder.files import LocalFiles
from snapline.launch import conf_folder, read_launch

if TYPE_CHECKING:
    from snapline.savepoint import SavepointMetadata

_DEFAULT_FILE_SYSTEM = "spark.hadoop.fs.defaultFS"
# Files of Spark's conf folder that may name another default file system.
_MAY_NAME_ANOTHER = ("core-site.xml", "spark-env.sh")


def local_path(path: str) -> Path | None:
    """Where a path without a scheme, or with `file:`, lies on this machine; None: it has another scheme."""
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):(/.*)", path)
    if match is None:
        return Path(path)
    return Path("/" + match[2].lstrip("/")) if match[1].lower() == "file" else None


class LocalPaths:
    """Paths as the Spark of a command will take them. Paths that are not on this machine are left to Spark."""

    def __init__(self, conf: Sequence[str] | None, environ: Mapping[str, str] = os.environ) -> None:
        folder = conf_folder(environ)
        #: Whether a path without a scheme may be Hadoop's.
        self._is_elsewhere = (
            any(setting.startswith(f"{_DEFAULT_FILE_SYSTEM}=") for setting in conf or ())
            or _DEFAULT_FILE_SYSTEM in read_launch(environ).conf
            or bool(environ.get("HADOOP_CONF_DIR"))
            or (folder is not None and any((folder / name).is_file() for name in _MAY_NAME_ANOTHER))
        )

    def check_checkpoint(self, path: str, number: int | None) -> None:
        """
        Raises:
            NotACheckpoint: there is no checkpoint of a query.
            StateNotFound: it has no numbered checkpoint of this number.
        """
        files = self._files(path)
        if files is None:
            return
        if not files.exists(""):
            raise NotACheckpoint(f"{files.location} does not exist.", "give the checkpointLocation of a query.")
        if not (files.exists("offsets") and files.exists("commits")):
            raise NotACheckpoint(
                f"{files.location} has not both offsets/ and commits/.", "give the checkpointLocation of a query."
            )
        if number is not None and not files.exists(f"snapline/chk-{number}"):
            there = sorted(int(name[4:]) for name in files.list("snapline") if re.fullmatch(r"chk-\d+", name))
            raise StateNotFound(
                f"no checkpoint {number} in {files.location}; there is {', '.join(map(str, there)) or 'none'}.",
                "ask for one of those." if there else "leave out --checkpoint: the newest state is taken.",
            )

    def check_new(self, path: str, what: str) -> None:
        """
        Raises:
            InvalidConfiguration: there is something in the folder, which is to be one of its own for `what`.
        """
        from snapline.savepoint.create import check_empty

        files = self._files(path)
        if files is not None:
            check_empty(files, what)

    def read_savepoint(self, path: str) -> SavepointMetadata | None:
        """The metadata of a savepoint; None if it is not on this machine.

        Raises: as :func:`snapline.savepoint.metadata.read_savepoint`.
        """
        from snapline.savepoint.metadata import read_savepoint

        files = self._files(path)
        if files is None:
            return None
        if not files.exists(""):
            raise NotACheckpoint(f"{files.location} does not exist.", "give the folder of a savepoint.")
        return read_savepoint(files)

    def _files(self, path: str) -> LocalFiles | None:
        local = local_path(path)
        if local is None or (self._is_elsewhere and ":" not in path):
            return None
        return LocalFiles(local)
