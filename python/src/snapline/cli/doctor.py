"""``snapline doctor``: says what is found, and what to do about it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from snapline.cli.checkup import State, run_checks
from snapline.cli.text import console, print_json, table

_COLOURS = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


def doctor(
    start: Annotated[bool, typer.Option("--start", help="Start a local session and load the classes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at Java, Spark, the jar and the provider in force. Exits with 1 if something does not work."""
    checks = run_checks(start=start)
    if as_json:
        print_json([check._asdict() for check in checks])
    else:
        shown = table("", "", "", "found", "do")
        for check in checks:
            mark = Text(check.state.value, _COLOURS[check.state])
            shown.add_row(mark, check.name, check.found, check.action)
        console().print(shown)
    raise typer.Exit(int(any(check.state is State.FAIL for check in checks)))
