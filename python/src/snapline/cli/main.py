"""Entry point: commands, errors and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from snapline._version import __version__
from snapline.cli import checkpoints, doctor, savepoint, sink
from snapline.errors import CheckpointDamaged, SnaplineError
from snapline.spark_line import LINES

EXIT_DAMAGED = 1
EXIT_USAGE = 2

app = typer.Typer(
    name="snapline",
    help="Flink's state and checkpoint model for Spark Structured Streaming.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(checkpoints.app)
app.add_typer(savepoint.app)
app.add_typer(sink.app)
app.command()(savepoint.restore)
app.command()(savepoint.rescale)
app.command()(doctor.doctor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits: 0 when all is well, 1 when something is damaged or does not work, 2 for a wrong use."""
    try:
        app(arguments)
    except SnaplineError as e:
        print(e, file=sys.stderr)
        sys.exit(EXIT_DAMAGED if isinstance(e, CheckpointDamaged) else EXIT_USAGE)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"snapline {__version__} for Spark {LINES}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Flink's state and checkpoint model for Spark Structured Streaming."""
