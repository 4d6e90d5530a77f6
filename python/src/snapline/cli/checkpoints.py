"""``snapline checkpoints``: looks into a checkpoint folder without a JVM."""

from __future__ import annotations

from typing import Annotated

import typer

from snapline.cli import describe, listing, numbered, verification, watching
from snapline.inspect import CheckpointFolder, summarize, verify

app = typer.Typer(
    name="checkpoints", help="Look into a query's checkpoint folder, without a JVM.", no_args_is_help=True
)

PathArgument = Annotated[
    str, typer.Argument(help="The query's checkpointLocation: a local path, or a URI (s3://, hdfs://, gs://, …).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(path: PathArgument, as_json: JsonOption = False) -> None:
    """Show numbered checkpoints, versions, sizes, and how little each snapshot uploaded."""
    listing.show(summarize(CheckpointFolder(path)), as_json=as_json)


@app.command("describe")
def describe_(
    path: PathArgument,
    operator: Annotated[int | None, typer.Option(min=0, help="Only this operator.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Only this partition, file by file.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="This version; else the newest that loads.")] = None,
    number: Annotated[int | None, typer.Option("--checkpoint", min=1, help="A numbered checkpoint instead.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a version, or a numbered checkpoint, consists of: states, keys, and the files it is loaded from."""
    if number is not None and version is not None:
        raise typer.BadParameter("a checkpoint has its own version: leave out --version or --checkpoint.")
    checkpoint = CheckpointFolder(path)
    if number is not None:
        numbered.show(numbered.choose(checkpoint, number), operator, partition, as_json=as_json)
        return
    chosen = describe.choose(checkpoint, operator, partition, version)
    describe.show(chosen, files=partition is not None, as_json=as_json)


@app.command("verify")
def verify_(path: PathArgument, as_json: JsonOption = False) -> None:
    """Read every byte and check it. Exits with 1 if something is damaged."""
    checkpoint = CheckpointFolder(path)
    if as_json:
        result = verify(checkpoint)
    else:
        with verification.progress(checkpoint) as advance:
            result = verify(checkpoint, advance)
    verification.show(checkpoint, result, as_json=as_json)
    raise typer.Exit(int(result.damaged))


@app.command("watch")
def watch_(
    path: PathArgument,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    newest: Annotated[int, typer.Option(min=1, help="Show so many checkpoints.")] = 10,
    once: Annotated[bool, typer.Option("--once", help="Look once, and exit.")] = False,
) -> None:
    """Show the newest checkpoints and a replay that runs, again and again. End it with Ctrl-C."""
    watching.watch(path, interval=interval, newest=newest, once=once)
