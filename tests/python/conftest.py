"""The tests that take long, and shares of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes is the machine's affair.
settings.register_profile("snapline", deadline=None)
settings.load_profile("snapline")

HERE = Path(__file__).parent
LONG_TESTS = HERE / "long_tests.txt"
"""Tests that took at least `LONG_SECONDS` when `SNAPLINE_WRITE_LONG_TESTS=1 ./test whole` ran last, a line each."""
LONG_SECONDS = 4.0
WRITES = os.environ.get("SNAPLINE_WRITE_LONG_TESTS") == "1"


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the source tree."""
    return Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", help="the first of three shares of the long tests, file by file: 1/3")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what is in the list, so that `-m "not whole"` leaves it out; of the rest a share may be asked for."""
    long = set(LONG_TESTS.read_text().splitlines())
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.whole)
    share = config.getoption("--share", None)
    if share is not None:
        number, of = map(int, share.split("/"))
        files = sorted({item.path for item in items if item.get_closest_marker("whole")})
        taken = set(files[number - 1 :: of])
        mine = [item for item in items if item.path in taken and item.get_closest_marker("whole")]
        config.hook.pytest_deselected(items=[item for item in items if item not in mine])
        items[:] = mine


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if WRITES:
        reports = [each for each in terminalreporter.stats.get("passed", ()) if each.when == "call"]
        long = sorted(each.nodeid for each in reports if each.duration >= LONG_SECONDS)
        LONG_TESTS.write_text("\n".join(long) + "\n")
