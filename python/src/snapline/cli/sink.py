"""``snapline sink``: the sinks of a query that have each row once."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from snapline.cli.text import console, number, print_json, table
from snapline.errors import CheckpointDamaged, InvalidConfiguration, NotACheckpoint
from snapline.folder.files import LocalFiles
from snapline.folder.logs import COMMITS, OFFSETS, Log
from snapline.recovery.recovery import Recovery
from snapline.sink.reading import KAFKA_TOPIC, TABLE, SinkMarkers, read_database, read_kafka

app = typer.Typer(name="sink", help="Look at sinks that have each row once.", no_args_is_help=True)

_QUERY = "metadata"


@app.callback()
def _group() -> None:
    """Look at sinks that have each row once."""


@app.command("describe")
def describe(
    checkpoint: Annotated[str, typer.Argument(help="The query's checkpointLocation: a local path.")],
    *,
    kafka: Annotated[str | None, typer.Option(help="host:port of a broker.")] = None,
    topic: Annotated[str, typer.Option(help="The topic of the markers.")] = KAFKA_TOPIC,
    database: Annotated[
        str | None, typer.Option(help="sqlite:PATH, or postgresql://user:password@host:port/database.")
    ] = None,
    markers: Annotated[str, typer.Option("--table", help="The table of the markers.")] = TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the batches that the sinks of a query have, and how they stand to its checkpoint. Starts no JVM."""
    if (kafka is None) == (database is None):
        raise InvalidConfiguration("the place of the markers is not one.", "give --kafka or --database.")
    files = LocalFiles(checkpoint)
    if not files.exists(_QUERY):
        raise NotACheckpoint(f"{checkpoint} has no file {_QUERY}.", "give the checkpointLocation of a query.")
    query = _query_id(files)
    planned, committed = _newest_batches(files)
    if kafka is not None:
        sinks = read_kafka(query, kafka, topic)
    else:
        assert database is not None
        sinks = read_database(query, database, markers)
    if as_json:
        print_json({"query": query, "planned": planned, "committed": committed, "sinks": sinks})
        return
    out = console()
    out.print(f"Query {query}: batch {_batch(planned)} is planned, batch {_batch(committed)} is committed")
    columns = ("sink", "newest batch", "partitions with rows", "of", "rows", "standing")
    shown = table("Sinks", *columns, numbers=columns[1:-1])
    for sink in sinks:
        of = next(marker.partitions for marker in sink.markers.values() if marker.batch == sink.batch)
        shown.add_row(
            sink.name,
            number(sink.batch),
            number(sink.partitions_of_batch),
            number(of),
            number(sink.rows_of_batch),
            _standing(sink, planned, committed),
        )
    out.print(shown)


def _query_id(files: LocalFiles) -> str:
    try:
        return str(json.loads(files.read(_QUERY))["id"])
    except (ValueError, KeyError, TypeError):
        raise CheckpointDamaged(
            f"{files.location}/{_QUERY} names no query.",
            "remove the folder and restore the savepoint again, if its restore was cut short; else take a backup.",
        ) from None


def _newest_batches(files: LocalFiles) -> tuple[int | None, int | None]:
    """The newest batch that is planned, and the newest that is committed, also while a recovery hides them."""
    journal = Recovery(files).pending()
    if journal is not None:
        return journal.planned, journal.committed
    return Log(files, OFFSETS).newest(), Log(files, COMMITS).newest()


def _standing(sink: SinkMarkers, planned: int | None, committed: int | None) -> str:
    if sink.batch > (-1 if planned is None else planned):
        return "ahead of the checkpoint: a start is refused"
    if sink.batch > (-1 if committed is None else committed):
        return "whole or in part: a start writes the rest"
    return "whole"


def _batch(number: int | None) -> str:
    return "none" if number is None else str(number)
