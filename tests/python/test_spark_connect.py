"""What Spark Connect cannot do here is refused with what to do: its objects have no JVM behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import snapline
from snapline.errors import InvalidConfiguration
from snapline.savepoint import create_savepoint, rescale_checkpoint


def of_connect(module: str) -> Any:
    """An object of a class of that module."""
    return type("Theirs", (), {"__module__": f"pyspark.sql.connect.{module}"})()


CALLS: dict[str, Callable[[Path], object]] = {
    "start": lambda folder: snapline.start(of_connect("streaming.readwriter")),
    "exactly_once": lambda folder: snapline.exactly_once(of_connect("streaming.readwriter")),
    "once": lambda folder: snapline.once(of_connect("session"), str(folder)),
    "read_state": lambda folder: snapline.read_state(str(folder), session=of_connect("session")),
    "create_savepoint": lambda folder: create_savepoint(of_connect("session"), str(folder), str(folder / "to")),
    "rescale_checkpoint": lambda folder: rescale_checkpoint(
        of_connect("session"), str(folder), str(folder / "to"), parallelism=2
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_it_is_refused(call: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="of Spark Connect, whose plans are made on the server") as refusal:
        CALLS[call](tmp_path)
    assert "use a classic session" in refusal.value.action
