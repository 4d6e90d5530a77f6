"""State as the files its stores keep it in: taken into savepoints, and put into checkpoint folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snapline.errors import CheckpointDamaged, IncompatibleState
from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import java_native_savepoints, translate
from snapline.savepoint.matching import RestoredOperator
from snapline.savepoint.metadata import SavepointFile, SavepointMetadata, StoreVersion
from snapline.savepoint.spark_files import PROVIDER, SNAPLINE
from snapline.savepoint.state import CheckpointState
from snapline.savepoint.verify import check_there

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class NativeState:
    """The files that were copied into a savepoint.

    Attributes:
        rows: the number of keys, by the folder that a canonical savepoint has for a state.
    """

    backend: str
    stores: tuple[StoreVersion, ...]
    rows: Mapping[str, int]
    files: tuple[SavepointFile, ...]


def check_native(state: CheckpointState) -> None:
    """
    Raises:
        IncompatibleState: another state store has written it.
    """
    provider = state.offsets.metadata["conf"].get(PROVIDER)
    if provider != SNAPLINE:
        raise IncompatibleState(
            f"the state in {state.location} was written by {provider}, whose files are not Snapline's.",
            "take a canonical savepoint, which is read through the state store, and restore that.",
        )


def copy_state(session: SparkSession, state: CheckpointState, to: str) -> NativeState:
    """Copies the files of all stores of a checkpoint; ``check_native`` comes before."""
    wanted = json.dumps([vars(store) for store in stores_of(state)])
    with translate(f"copy the files of {state.location}"):
        text = java_native_savepoints(session).copy(session._jsparkSession, state.location, to, wanted)
    copied: list[dict[str, Any]] = json.loads(str(text))
    keys: Counter[tuple[int, str, str]] = Counter()
    for each in copied:
        for family, count in each["keys"].items():
            keys[each["operator"], each["store"], family] += count
    return NativeState(
        backend=next((each["backend"] for each in copied), "none"),
        stores=tuple(
            StoreVersion(each["operator"], each["store"], each["partition"], each["version"], each["uid"])
            for each in copied
        ),
        rows={key.folder: keys[key] for operator in state.operators for key in operator.states},
        files=tuple(_files_of(copied)),
    )


def _files_of(stores: Sequence[Mapping[str, Any]]) -> Iterator[SavepointFile]:
    return (SavepointFile(**file) for each in stores for file in each["files"])


def stores_of(state: CheckpointState) -> tuple[StoreVersion, ...]:
    """The stores of a checkpoint, and which version of each is its state."""
    return tuple(
        StoreVersion(operator.id, store, partition, state.version, state.uids.get((operator.id, store, partition)))
        for operator in state.operators
        for store in operator.stores
        for partition in range(operator.parallelism)
    )


def restore_state(
    session: SparkSession,
    source: str,
    target: HadoopFiles,
    metadata: SavepointMetadata,
    *,
    settings: str,
    restored: Sequence[RestoredOperator],
    parallelism: int | None,
) -> dict[str, list[list[str]]]:
    """Writes the state of a checkpoint folder of files of another, or of a native savepoint.

    Args:
        metadata: the metadata of the savepoint, or as one of the checkpoint would have it.
        settings: the settings in the new folder's entry of the offset log.
        restored: the operators of the new folder.
        parallelism: number of partitions; None: as many as they had.

    Returns:
        By operator and partition, the uids of what was written, in the order of a commit.

    Raises:
        StorageFailure: a file that was copied is not there any more.
    """
    to = target.location
    operators = [
        {
            "id": operator.id,
            "partitions": operator.partitions(parallelism),
            "layout": operator.layout.json if operator.old is None else operator.old.json,
            "empty": operator.old is None,
        }
        for operator in restored
    ]
    plan = json.dumps({"operators": operators, "stores": [vars(store) for store in metadata.stores]})
    with translate(f"write the state of {to}"):
        text = java_native_savepoints(session).restore(
            session._jsparkSession, source, to, metadata.batch + 1, settings, plan
        )
    stores: list[dict[str, Any]] = json.loads(str(text))
    check_there(to, target.lengths(""), _files_of(stores))
    written = {(each["operator"], each["store"], each["partition"]): each["uid"] for each in stores}
    try:
        return {
            str(operator.id): [
                [written[operator.id, store, partition] for store in operator.layout.stores_in_commits]
                for partition in range(operator.partitions(parallelism))
            ]
            for operator in restored
        }
    except KeyError as e:
        raise CheckpointDamaged(f"store {e} of {to} was not written.", "restore again.") from None
