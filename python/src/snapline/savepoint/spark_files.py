"""Spark's own small files that belong to a query's state: where its sources are, which operators and schemas it has."""

from __future__ import annotations

import json
from typing import Any

from snapline.errors import CheckpointDamaged
from snapline.folder.files import Files
from snapline.savepoint.layout import DEFAULT, OperatorLayout

SOURCES = "sources"
# Settings in an entry of the offset log, and what the first of them is here.
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SNAPLINE = "io.snapline.spark.SnaplineStateStoreProvider"
PARTITIONS = "spark.sql.shuffle.partitions"


def spark_files(files: Files, operators: tuple[OperatorLayout, ...], batch: int) -> list[str]:
    """Those of a checkpoint folder that a batch's state needs, relative to it."""
    names = [f"{SOURCES}/{name}" for name in files.walk(SOURCES)]
    for operator in operators:
        names.append(operator_file(files, operator.id, batch))
        names += operator.schema_files or [schema_file(operator.id, store) for store in operator.stores]
    return names


def schema_file(operator: int, store: str) -> str:
    """Where Spark keeps the schema of a store, of operators whose schema never changes."""
    below = "" if store == DEFAULT else f"/{store}"
    return f"state/{operator}/0{below}/_metadata/schema"


def operator_file(files: Files, operator: int, batch: int) -> str:
    """Spark's description of an operator as of a batch.

    Raises:
        CheckpointDamaged: there is none.
    """
    folder = f"state/{operator}/_metadata"
    batches = [int(name) for name in files.list(f"{folder}/v2") if name.isdigit() and int(name) <= batch]
    if batches:
        return f"{folder}/v2/{max(batches)}"
    if files.exists(f"{folder}/metadata"):
        return f"{folder}/metadata"
    raise CheckpointDamaged(
        f"{files.location}/{folder} has no description of operator {operator} for batch {batch}.",
        "restore the folder from a backup.",
    )


def moved_file(
    name: str, text: bytes, location: str, batch: int, *, number: int, uid: str | None, parallelism: int
) -> tuple[str, bytes]:
    """A file of an operator for another checkpoint folder, where the operator may have another number: its name there,
    and its text.

    Into the operator's description Spark writes whole paths of schema files, its number and that of the partitions.
    """
    state, old, rest = name.split("/", 2)
    moved = f"{state}/{number}/{rest}"
    if not _is_description(name):
        return moved, text
    version, _, body = text.decode().partition("\n")
    metadata: dict[str, Any] = json.loads(body)
    metadata["operatorInfo"]["operatorId"] = number
    below = f"/state/{old}/"
    for store in metadata["stateStoreInfo"]:
        store["numPartitions"] = parallelism
        if "stateSchemaFilePaths" in store:
            store["stateSchemaFilePaths"] = [
                f"{location}/state/{number}/{path[path.rindex(below) + len(below) :]}"
                for path in store["stateSchemaFilePaths"]
            ]
    if metadata.get("operatorPropertiesJson"):
        properties = json.loads(metadata["operatorPropertiesJson"])
        if uid is None:
            properties.pop("uid", None)
        else:
            properties["uid"] = uid
        metadata["operatorPropertiesJson"] = _compact(properties)
    folder, _, last = moved.rpartition("/")
    return f"{folder}/{batch if last.isdigit() else last}", f"{version}\n{_compact(metadata)}".encode()


def moved_offsets(text: str, changed: dict[str, str]) -> bytes:
    """An entry of the offset log with some settings changed."""
    lines = text.split("\n")
    metadata = json.loads(lines[1])
    metadata["conf"].update(changed)
    return "\n".join([lines[0], _compact(metadata), *lines[2:]]).encode()


def moved_commit(text: str, uids: dict[str, list[list[str]]]) -> bytes:
    """An entry of the commit log; in checkpoint format 2 with the ids of the states that were written."""
    first, _, body = text.partition("\n")
    metadata = json.loads(body)
    if metadata.get("stateUniqueIds") is not None:
        metadata["stateUniqueIds"] = uids
    return f"{first}\n{_compact(metadata)}".encode()


def operator_of(name: str) -> int | None:
    """The operator that a file belongs to; None: to the whole query."""
    folder, _, below = name.partition("/")
    return int(below.split("/")[0]) if folder == "state" else None


def _is_description(name: str) -> bool:
    parts = name.split("/")
    return len(parts) > 3 and parts[2] == "_metadata"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
