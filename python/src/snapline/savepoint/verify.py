"""Checks every byte of a savepoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from snapline.errors import CheckpointDamaged, StorageFailure
from snapline.folder.files import Files
from snapline.java_api import java_savepoints, translate
from snapline.savepoint.metadata import METADATA, UNFINISHED, SavepointFile, SavepointMetadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Reads each of the named files whole.
Checksums = Callable[[list[str]], list[SavepointFile]]


def verify_savepoint(files: Files, metadata: SavepointMetadata, checksums: Checksums) -> None:
    """
    Raises:
        CheckpointDamaged: a file is missing, has changed, or does not belong to it.
    """
    wanted = {file.name: file for file in metadata.files}
    there = set(data_files(files))
    problems = [f"{name} is missing" for name in sorted(wanted.keys() - there)]
    # A part too many would be read like the others.
    problems += [f"{name} is none of its files" for name in sorted(there - wanted.keys())]
    for found in checksums(sorted(wanted.keys() & there)):
        due = wanted[found.name]
        if found != due:
            has, had = (f"{file.length} bytes with checksum {file.crc32c}" for file in (found, due))
            problems.append(f"{found.name} has {has}, and had {had}")
    if problems:
        raise CheckpointDamaged(
            f"{files.location}: {problems[0]}" + (f", and {len(problems) - 1} more" if problems[1:] else "") + ".",
            "take another savepoint, or restore this one from a backup.",
        )


def check_there(location: str, there: Mapping[str, int], written: Iterable[SavepointFile]) -> None:
    """
    Args:
        there: the files of a folder, and the length of each in bytes.
        written: those that tasks have written into it.

    Raises:
        StorageFailure: one is gone, or has another length: another attempt of a task may have been at work on it.
    """
    for file in written:
        length = there.get(file.name)
        if length != file.length:
            found = "is gone" if length is None else f"has {length} bytes"
            raise StorageFailure(
                f"{location}/{file.name} {found}, and was written with {file.length} bytes.",
                "do it again, into another folder.",
            )


def data_files(files: Files) -> list[str]:
    """All of a savepoint's but its ``_metadata`` and what Hadoop leaves behind."""
    return [name for name in files.walk("") if name not in (METADATA, UNFINISHED) and not name.endswith("/_SUCCESS")]


def spark_checksums(session: SparkSession, files: Files) -> Checksums:
    """Read by Spark's tasks."""
    return lambda names: [file for file, _ in _read(session, files, names, count_rows=False)]


def read_back(session: SparkSession, files: Files, names: list[str]) -> list[tuple[SavepointFile, int]]:
    """Files that were just written, read by Spark's tasks, and how many rows each has, if it is Parquet; else 0."""
    return _read(session, files, names, count_rows=True)


def _read(session: SparkSession, files: Files, names: list[str], count_rows: bool) -> list[tuple[SavepointFile, int]]:
    with translate(f"read {files.location}"):
        paths = [f"{files.location}/{name}" for name in names]
        found = java_savepoints(session).checksums(session._jsparkSession, paths, count_rows)
    numbers = (map(int, str(each).split(" ")) for each in found)
    return [(SavepointFile(name, length, crc), rows) for name, (length, crc, rows) in zip(names, numbers, strict=True)]
