"""Spark's own files of a checkpoint, as far as they tell which state belongs to which batch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from snapline.errors import CheckpointDamaged
from snapline.inspect.files import Folder, StoredFile

_OPERATOR = re.compile(r"state/(\d{1,9})/_metadata/")

# Spark's names of operators that may have no key.
_LIMIT = "globalLimit"
_AGGREGATION = "stateStoreSave"
_STRUCT = b'{"type":"struct","fields":['
_NO_COLUMNS = _STRUCT + b"]}"

CheckpointIds = Mapping[int, list[list[str]]]


@dataclass(frozen=True)
class StoreInfo:
    """A store as Spark's operator metadata names it."""

    name: str
    partitions: int


@dataclass(frozen=True)
class OperatorInfo:
    """A stateful operator as Spark's operator metadata names it."""

    id: int
    name: str
    stores: tuple[StoreInfo, ...]


class SparkLog:
    """Reads metadata, offsets/, commits/ and state/*/_metadata. All methods raise CheckpointDamaged for what they
    cannot make sense of, and StorageFailure."""

    def __init__(self, folder: Folder, files: Iterable[StoredFile]) -> None:
        self._folder = folder
        names = [file.name for file in files]
        self._names = set(names)
        self.offsets = _batches(names, "offsets/")
        self.commits = _batches(names, "commits/")
        self.operators = sorted({int(match[1]) for name in names if (match := _OPERATOR.match(name))})

    def read_query_id(self) -> str | None:
        """The id of the query; None before its first start."""
        if "metadata" not in self._names:
            return None
        return str(self._json("metadata", self._text("metadata")).get("id"))

    def read_conf(self) -> dict[str, str]:
        """The settings the newest offsets entry pins; empty before the first batch."""
        if not self.offsets:
            return {}
        name = f"offsets/{self.offsets[-1]}"
        lines = self._text(name).split("\n")
        if len(lines) < 2 or not lines[1].strip():
            return {}
        conf = self._json(name, lines[1]).get("conf", {})
        return {str(key): str(value) for key, value in conf.items()} if isinstance(conf, dict) else {}

    def read_checkpoint_ids(self, batch: int) -> CheckpointIds | None:
        """By operator: the uid of each partition's stores after this batch. None in checkpoint format 1."""
        name = f"commits/{batch}"
        if name not in self._names:
            return None
        lines = self._text(name).split("\n")
        ids = self._json(name, lines[1]).get("stateUniqueIds") if len(lines) > 1 and lines[1].strip() else None
        if not ids:
            return None
        try:
            return {int(op): [[str(uid) for uid in stores] for stores in parts] for op, parts in ids.items()}
        except (AttributeError, TypeError, ValueError):
            raise self._unreadable(name) from None

    def read_operator(self, operator: int) -> OperatorInfo | None:
        """None if Spark left no metadata for it."""
        base = f"state/{operator}/_metadata/"
        newest = _batches(self._names, base + "v2/")
        name = f"{base}v2/{newest[-1]}" if newest else base + "metadata"
        if name not in self._names:
            return None
        meta = self._json(name, self._text(name).partition("\n")[2])
        try:
            kind = str(meta["operatorInfo"]["operatorName"])
            # Spark notes its number of shuffle partitions for these as well.
            single = kind == _LIMIT or (kind == _AGGREGATION and self._has_no_key(operator))
            stores = tuple(
                StoreInfo(str(store["storeName"]), 1 if single else int(store["numPartitions"]))
                for store in meta["stateStoreInfo"]
            )
            return OperatorInfo(operator, kind, stores)
        except (KeyError, TypeError, ValueError):
            raise self._unreadable(name) from None

    def _has_no_key(self, operator: int) -> bool:
        """By the schema of its state, whose key comes first: then all of it is in partition 0."""
        name = f"state/{operator}/0/_metadata/schema"
        schema = self._folder.read(name) if name in self._names else b""
        first = schema.find(_STRUCT)
        return first >= 0 and schema.startswith(_NO_COLUMNS, first)

    def _text(self, name: str) -> str:
        try:
            return self._folder.read(name).decode("utf-8")
        except UnicodeDecodeError:
            raise self._unreadable(name) from None

    def _json(self, name: str, text: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise self._unreadable(name) from None
        if not isinstance(value, dict):
            raise self._unreadable(name)
        return value

    def _unreadable(self, name: str) -> CheckpointDamaged:
        return CheckpointDamaged(
            f"{self._folder.path(name)}, which Spark wrote, cannot be read.",
            "restore it from a backup, or go back to an older batch (docs/operations.md).",
        )


def _batches(names: Iterable[str], folder: str) -> list[int]:
    """Numbers of the batch files directly in a folder, in order."""
    found = (name[len(folder) :] for name in names if name.startswith(folder))
    return sorted(int(name) for name in found if name.isascii() and name.isdigit())
