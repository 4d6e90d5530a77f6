from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest

from integration.drill.tally import Tally


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Iterator[Tally]:
    """Goes into pytest's report in JUnit's format."""
    tally = Tally()
    yield tally
    for name, value in asdict(tally).items():
        record_property(name, value)
