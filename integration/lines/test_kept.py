"""Checkpoints and savepoints of earlier versions, on each line of Spark, go on under this version on this line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.lines import kept
from integration.lines.lives import MAIN, step

ARCHIVES = sorted(kept.FOLDER.glob("*.tar.xz"))


@pytest.fixture(autouse=True)
def _cleared() -> Iterator[None]:
    yield
    kept.clear()
    kept.PLACE.rmdir()


def test_some_are_kept() -> None:
    assert ARCHIVES


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.xz"))
def test_it_goes_on(archive: Path) -> None:
    expected = kept.take_out(archive)
    found = step(kept.PLACE, 1, os.environ.get("SNAPLINE_SPARK", MAIN))
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == expected[name], name
    assert sum(map(len, (rows for each in expected.values() for rows in each["output"].values()))) > 0
