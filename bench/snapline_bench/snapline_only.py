"""Benches whose runs all are on Snapline, and differ in what the query does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snapline_bench import provider
from snapline_bench.provider import Provider


def sessions(names: list[str], titles: Mapping[str, str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """A session of Snapline's under each name.

    Args:
        titles: by name.
        jar: Snapline's; None: the one that was built.
        settings: of every session, beside those that Snapline needs.
    """
    found = provider.find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar of Snapline: build it or give --jar PATH")
    ours = {**provider.COORDINATED, **settings}
    store = provider.snapline_provider(found, ours)
    return [Provider(name, titles[name], store.class_name, store.settings, store.jars) for name in names]
