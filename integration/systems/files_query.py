"""The query of `job.py` from files to files of this machine, with its checkpoint somewhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..drill.tally import Tally
from .life import JOB, Lives
from .orders import Orders
from .rows import make_rows, write_files
from .sinks import read_batch_files

ROWS, FILES = 480, 24


def make_orders(folder: Path, checkpoint: str, **more: object) -> Orders:
    """A file in each batch, and these orders besides."""
    orders = Orders(
        checkpoint=checkpoint,
        source="json",
        source_options={"path": str(folder / "input"), "maxFilesPerTrigger": "1"},
        sink="batches",
        sink_options={"folder": str(folder / "output")},
        state=str(folder / "state.json"),
        local=str(folder / "local"),
    )
    return replace(orders, **more)  # type: ignore[arg-type]


def make_lives(
    tally: Tally,
    folder: Path,
    checkpoint: str,
    *,
    command: Sequence[str] = JOB,
    environment: Mapping[str, str] | None = None,
    **more: object,
) -> Lives:
    """With input for 24 batches, and these orders besides."""
    folder.mkdir(exist_ok=True)
    rows = make_rows(ROWS)
    write_files(folder / "input", rows, FILES)
    return Lives(folder, rows, make_orders(folder, checkpoint, **more), tally, command, environment)


def check_batches(lives: Lives) -> None:
    """What its sink has."""
    lives.check(read_batch_files(Path(lives.orders.sink_options["folder"])))
