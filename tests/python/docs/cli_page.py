"""docs/cli.md, made from the commands themselves. ``python -m tests.python.docs.cli_page`` writes it."""

from __future__ import annotations

import html

import typer
from typer.cli import get_docs_for_click

from snapline.cli.main import app

from .pages import TOP

PAGE = "docs/cli.md"
HEAD = """# Commands

`scripts/pages` writes this page from the commands themselves.
Exit codes: 0 when all is well, 1 when something is damaged or does not work, 2 for a wrong use.
"""


def page() -> str:
    """The page as Markdown."""
    command = typer.main.get_command(app)
    made = get_docs_for_click(obj=command, ctx=typer.Context(command), name="snapline")
    _, _, body = html.unescape(made).partition("\n")
    return f"{HEAD}{body.rstrip()}\n"


if __name__ == "__main__":
    (TOP / PAGE).write_text(page())
