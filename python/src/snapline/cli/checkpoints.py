"""``snapline checkpoints``: looks into a checkpoint folder without a JVM."""

from __future__ import annotations

from typing import Annotated

import typer

from snapline.cli import describe, listing, verification
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
    """Show versions, sizes, and how little each snapshot uploaded."""
    listing.show(summarize(CheckpointFolder(path)), as_json=as_json)


@app.command("describe")
def describe_(
    path: PathArgument,
    operator: Annotated[int | None, typer.Option(min=0, help="Only this operator.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Only this partition, file by file.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="This version; else the newest that loads.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a version consists of: states, keys, and the files it is loaded from."""
    checkpoint = CheckpointFolder(path)
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
