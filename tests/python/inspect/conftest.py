from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .builder import CheckpointBuilder, StoreBuilder, build_sample


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[CheckpointBuilder]:
    """Six batches, snapshots of versions 3 and 5."""
    checkpoint = build_sample(tmp_path / "checkpoint")
    yield checkpoint
    checkpoint.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[CheckpointBuilder]:
    """Spark's folders only."""
    checkpoint = CheckpointBuilder(tmp_path / "checkpoint")
    yield checkpoint
    checkpoint.close()


@pytest.fixture
def store(empty: CheckpointBuilder) -> StoreBuilder:
    """A store without versions."""
    return empty.add_store(0, 0, families=("default", "timers"))
