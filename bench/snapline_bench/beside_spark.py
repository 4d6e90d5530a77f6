"""Benches whose runs are some on Spark's own provider, and some on Snapline's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from snapline_bench import local_files, provider
from snapline_bench.provider import Provider


def sessions(
    names: list[str], spark: Mapping[str, str], ours: Mapping[str, str], jar: Path | None, settings: dict[str, str]
) -> list[Provider]:
    """A session under each name: Spark's on its RocksDB provider with changelogs, Snapline's on its own.

    Args:
        spark: titles by name.
        ours: likewise.
        jar: Snapline's; None: the one that was built.
        settings: of Snapline's sessions, beside those that it needs.
    """
    found = provider.find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar of Snapline: build it or give --jar PATH")
    needed = {
        local_files.SETTING: local_files.CLASSES[local_files.OURS],
        **settings,
        "spark.sql.extensions": "io.snapline.spark.SnaplineExtension",
    }
    store = provider.snapline_provider(found, needed)
    known = {name: replace(provider.CHANGELOG, name=name, title=title) for name, title in spark.items()}
    known |= {name: replace(store, name=name, title=title) for name, title in ours.items()}
    return [known[name] for name in names if name in known]
