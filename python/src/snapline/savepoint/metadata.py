"""``_metadata`` of a savepoint: what makes it exist (docs/FORMAT.md, section 11)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snapline.errors import CheckpointDamaged, NotACheckpoint, StateNotFound
from snapline.folder.files import Files
from snapline.folder.logs import LogEntry, parse_entry
from snapline.format import Kind
from snapline.format.frame import write_meta_frame
from snapline.format.members import BadMeta, count, items, need, uid
from snapline.format.meta_file import parse_meta_file
from snapline.savepoint.layout import OperatorLayout, parse_operator

METADATA = "_metadata"
# There while a savepoint is being written: what is left of one that was cut short can be told from other folders.
UNFINISHED = "_unfinished"
# The forms of state: tables, or files of the store.
CANONICAL = "canonical"
NATIVE = "native"
_NATIVE_NUMBER = 2
_IN_FLIGHT_NUMBER = 3


@dataclass(frozen=True)
class SavepointFile:
    """A file of a savepoint, relative to it."""

    name: str
    length: int
    crc32c: int


@dataclass(frozen=True)
class StoreVersion:
    """A version of a store. ``uid``: of the attempt; None, which no savepoint has: whichever is the latest."""

    operator: int
    store: str
    partition: int
    version: int
    uid: str | None


@dataclass(frozen=True)
class SavepointMetadata:
    """A savepoint. Times in milliseconds since 1970.

    Attributes:
        id: made anew for each savepoint.
        query: the id of the query it was taken of.
        checkpoint: the numbered checkpoint it was taken of; None: the last batch.
        offsets: text of the offset log's entry of its batch, and ``commit`` of the commit log's.
        planned: the entry of the batch after it, if that was planned and not committed: a sink may have it.
        provider: the class of the state store it was read with.
        rows: the number of rows, by folder of a state; a native savepoint has no such folders.
        backend: the state backend whose files a native savepoint has.
        stores: the stores that a native savepoint has.
        in_flight: the numbers of the operators whose stores have in-flight data.
    """

    id: str
    format: str
    created: int
    query: str
    batch: int
    checkpoint: int | None
    offsets: str
    commit: str
    planned: str | None
    max_parallelism: int
    provider: str
    writer: str
    spark: str
    operators: tuple[OperatorLayout, ...]
    rows: Mapping[str, int]
    files: tuple[SavepointFile, ...]
    backend: str | None = None
    stores: tuple[StoreVersion, ...] = ()
    in_flight: tuple[int, ...] = ()

    @property
    def offset_entry(self) -> LogEntry:
        """The source offsets to go on from, and the settings of the batch."""
        return parse_entry(self.batch, self.offsets.encode(), METADATA)

    @property
    def commit_entry(self) -> LogEntry:
        """The commit of the batch."""
        return parse_entry(self.batch, self.commit.encode(), METADATA)

    @property
    def planned_entry(self) -> LogEntry | None:
        """The offsets of the batch after it, if that was planned."""
        return None if self.planned is None else parse_entry(self.batch + 1, self.planned.encode(), METADATA)

    @property
    def parallelism(self) -> int:
        """Over how many partitions the query spread its state."""
        return int(self.offset_entry.metadata["conf"]["spark.sql.shuffle.partitions"])

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.length for file in self.files)

    def to_bytes(self) -> bytes:
        """As it stands in storage."""
        meta = {
            "kind": Kind.SAVEPOINT.value,
            "id": self.id,
            "format": self.format,
            "created": self.created,
            "query": self.query,
            "batch": self.batch,
            "checkpoint": self.checkpoint,
            "offsets": self.offsets,
            "commit": self.commit,
            "planned": self.planned,
            "maxParallelism": self.max_parallelism,
            "provider": self.provider,
            "writer": self.writer,
            "spark": self.spark,
            "operators": [operator.json for operator in self.operators],
            "rows": self.rows,
            "files": [{"name": f.name, "length": f.length, "crc32c": f.crc32c} for f in self.files],
        }
        if self.format != NATIVE:
            return write_meta_frame(Kind.SAVEPOINT, _bytes(meta))
        meta |= {"backend": self.backend, "stores": [vars(store) for store in self.stores]}
        if not self.in_flight:
            return write_meta_frame(Kind.SAVEPOINT, _bytes(meta), _NATIVE_NUMBER)
        return write_meta_frame(Kind.SAVEPOINT, _bytes(meta | {"inFlight": list(self.in_flight)}), _IN_FLIGHT_NUMBER)


def read_savepoint(files: Files) -> SavepointMetadata:
    """
    Raises:
        NotACheckpoint: the folder is no savepoint, or one that was never finished.
        CheckpointDamaged: its ``_metadata`` is damaged.
        UnsupportedVersion: it is of a later version.
    """
    path = f"{files.location}/{METADATA}"
    try:
        data = files.read(METADATA)
    except StateNotFound:
        if files.exists(UNFINISHED):
            raise NotACheckpoint(
                f"{files.location} is a savepoint that was never finished, or is being written.",
                "wait for it, or remove it (`snapline savepoint dispose`) and take another.",
            ) from None
        raise NotACheckpoint(
            f"{path} does not exist: this is no savepoint.", "give the folder that `snapline savepoint create` wrote."
        ) from None
    return parse_savepoint(data, path)


def parse_savepoint(data: bytes, path: str) -> SavepointMetadata:
    """
    Raises:
        CheckpointDamaged: a check fails, or a member is missing or of another type.
        UnsupportedVersion: the format number is unknown.
    """
    return parse_meta_file(data, path, Kind.SAVEPOINT, _savepoint, _damaged)


def _bytes(meta: dict[str, Any]) -> bytes:
    return json.dumps(meta, separators=(",", ":")).encode()


def _savepoint(meta: dict[str, Any]) -> SavepointMetadata:
    rows = need(meta, "rows", dict)
    is_native = need(meta, "format", str) == NATIVE
    savepoint = SavepointMetadata(
        id=need(meta, "id", str),
        format=need(meta, "format", str),
        created=count(meta, "created"),
        query=need(meta, "query", str),
        batch=count(meta, "batch"),
        checkpoint=None if meta.get("checkpoint") is None else count(meta, "checkpoint"),
        offsets=need(meta, "offsets", str),
        commit=need(meta, "commit", str),
        planned=None if meta.get("planned") is None else need(meta, "planned", str),
        max_parallelism=count(meta, "maxParallelism"),
        provider=need(meta, "provider", str),
        writer=need(meta, "writer", str),
        spark=need(meta, "spark", str),
        operators=tuple(parse_operator(item) for item in items(meta, "operators")),
        rows={folder: count(rows, folder) for folder in rows},
        files=tuple(_file(item) for item in items(meta, "files")),
        backend=need(meta, "backend", str) if is_native else None,
        stores=tuple(_store(item) for item in items(meta, "stores")) if is_native else (),
        in_flight=_in_flight(meta) if is_native else (),
    )
    if savepoint.format not in (CANONICAL, NATIVE):
        raise BadMeta(f"its format is {savepoint.format}")
    if is_native:
        _check_stores(savepoint)
    try:
        _ = savepoint.parallelism
    except (CheckpointDamaged, KeyError, TypeError, ValueError):
        raise BadMeta("its offsets have no settings") from None
    return savepoint


def _file(item: dict[str, Any]) -> SavepointFile:
    name = need(item, "name", str)
    if "\0" in name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        raise BadMeta("the name of a file leaves the folder")
    return SavepointFile(name, count(item, "length"), count(item, "crc32c"))


def _store(item: dict[str, Any]) -> StoreVersion:
    return StoreVersion(
        count(item, "operator"), need(item, "store", str), count(item, "partition"), count(item, "version"), uid(item)
    )


def _in_flight(meta: dict[str, Any]) -> tuple[int, ...]:
    operators = meta.get("inFlight", [])
    known = [operator.get("id") for operator in items(meta, "operators")]
    if not isinstance(operators, list) or any(type(each) is not int or each not in known for each in operators):
        raise BadMeta("rows wait in operators that it does not have")
    return tuple(operators)


def _check_stores(savepoint: SavepointMetadata) -> None:
    there = sorted((each.operator, each.store, each.partition) for each in savepoint.stores)
    wanted = sorted(
        (operator.id, store, partition)
        for operator in savepoint.operators
        for store in operator.stores
        for partition in range(operator.parallelism)
    )
    if there != wanted:
        raise BadMeta("its stores are not those of its operators")


def _damaged(path: str, what: str) -> CheckpointDamaged:
    return CheckpointDamaged(f"{path}: {what}.", "take another savepoint, or restore this one from a backup.")
