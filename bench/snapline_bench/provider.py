"""The state store providers that stand side by side, and the settings that put each in force."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from pathlib import Path

STORE = "spark.sql.streaming.stateStore"
SPARK_STATE = "org.apache.spark.sql.execution.streaming.state"


@dataclass(frozen=True)
class Provider:
    name: str
    title: str
    class_name: str
    settings: dict[str, str] = field(default_factory=dict)
    jars: tuple[str, ...] = ()

    def spark_settings(self) -> dict[str, str]:
        return {f"{STORE}.providerClass": self.class_name, **self.settings}


NULL = Provider("null", "stores nothing", "io.snapline.bench.NullStateStoreProvider")
ROCKSDB = Provider("rocksdb", "Spark RocksDB", f"{SPARK_STATE}.RocksDBStateStoreProvider")
CHANGELOG = Provider(
    "changelog",
    "Spark RocksDB with changelog",
    f"{SPARK_STATE}.RocksDBStateStoreProvider",
    {f"{STORE}.rocksdb.changelogCheckpointing.enabled": "true"},
)
HDFS = Provider("hdfs", "Spark HDFS-backed", f"{SPARK_STATE}.HDFSBackedStateStoreProvider")
OURS = "snapline"
# The same with its state on the heap.
HASHMAP = "hashmap"

# What makes it more than a provider: keyed functions, and checkpoints at an interval.
COORDINATED = {
    "spark.sql.extensions": "io.snapline.spark.SnaplineExtension",
    "spark.plugins": "io.snapline.spark.plugin.SnaplinePlugin",
}

NAMES = ("null", "rocksdb", "changelog", "hdfs", OURS)


def snapline_provider(jar: Path, settings: dict[str, str]) -> Provider:
    return Provider(OURS, "Snapline", "io.snapline.spark.SnaplineStateStoreProvider", settings, (str(jar),))


def find_snapline_jar(given: Path | None) -> Path | None:
    """The jar to measure: the one given, else the one inside the installed Python package."""
    if given is not None:
        if not given.is_file():
            raise FileNotFoundError(f"no jar at {given}")
        return given.resolve()
    try:
        found = Path(importlib.import_module("snapline").jar_path())
    except (ImportError, AttributeError, OSError):
        return None
    return found if found.is_file() else None


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """The providers named, in their order; Snapline is left out (and said so) where no jar is found."""
    known = {p.name: p for p in (NULL, ROCKSDB, CHANGELOG, HDFS)}
    ours = {OURS, HASHMAP}.intersection(names)
    found = find_snapline_jar(jar) if ours else None
    if found is not None:
        known[OURS] = snapline_provider(found, settings)
        on_heap = {"spark.snapline.state.backend.type": "hashmap", **settings}
        known[HASHMAP] = replace(known[OURS], name=HASHMAP, title="Snapline, hashmap", settings=on_heap)
    elif ours:
        print("snapline: no jar found (build it or give --jar PATH); running without it")
    return [known[name] for name in names if name in known]
