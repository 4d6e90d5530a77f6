from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from snapline.cli import main

from ..inspect.builder import CheckpointBuilder, build_sample


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Ran(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[CheckpointBuilder]:
    """Six batches, snapshots of versions 3 and 5."""
    checkpoint = build_sample(tmp_path / "checkpoint")
    yield checkpoint
    checkpoint.close()
