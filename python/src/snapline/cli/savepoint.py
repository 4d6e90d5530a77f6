"""``snapline savepoint`` and ``snapline restore``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from snapline.cli import savepoint_text
from snapline.cli.local_paths import LocalPaths, local_path
from snapline.cli.spark import spark_session
from snapline.cli.text import console
from snapline.errors import StateNotFound
from snapline.folder.files import LocalFiles
from snapline.inspect import SavepointFolder
from snapline.inspect.files import Folder

if TYPE_CHECKING:
    from snapline.savepoint import SavepointMetadata
    from snapline.savepoint.matching import OperatorMap

app = typer.Typer(name="savepoint", help="Take, look at and remove savepoints.", no_args_is_help=True)

SavepointArgument = Annotated[str, typer.Argument(help="A savepoint: a local path, or a URI (s3://, hdfs://, …).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NumberOption = Annotated[
    int | None,
    typer.Option("--checkpoint", min=1, help="The number of the checkpoint to take; without it the newest state."),
]
MasterOption = Annotated[str, typer.Option(help="The master of the Spark that does this.")]
ConfOption = Annotated[list[str] | None, typer.Option("--conf", help="A setting of Spark, as name=value. Repeatable.")]

ParallelismOption = Annotated[int | None, typer.Option(min=1, help="Partitions of the state; else as many as before.")]
KeepQueryIdOption = Annotated[
    bool, typer.Option("--keep-query-id", help="Go on as the same query; the old one must never run again.")
]
FileSinkOption = Annotated[
    str | None, typer.Option(help="The output folder of the file sink, if the query will write to a new one.")
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        help="OLD=NEW: an operator's number or uid, and its number in the new plan. OLD= leaves its state out.",
    ),
]
AllowOption = Annotated[bool, typer.Option("--allow-non-restored-state", help="State may be left out.")]


@app.command("create")
def create(
    checkpoint: Annotated[str, typer.Argument(help="The query's checkpointLocation. The query may be running.")],
    *,
    to: Annotated[str, typer.Option(help="A folder for it, new or empty.")],
    number: NumberOption = None,
    format: Annotated[str, typer.Option(help="canonical: Parquet; native: copies of the state store's files.")] = (
        "canonical"
    ),
    in_flight: Annotated[
        bool, typer.Option("--in-flight", help="Take rows along that wait (unaligned checkpoints); native only.")
    ] = False,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the state of a query, and all that is needed to go on from it."""
    from snapline.savepoint import create_savepoint
    from snapline.savepoint.create import check_format

    check_format(format, in_flight)
    paths = LocalPaths(conf)
    paths.check_checkpoint(checkpoint, number)
    paths.check_new(to, "a savepoint")
    with spark_session(master, conf) as session:
        metadata = create_savepoint(
            session, checkpoint, to, number=number, format=format, in_flight=in_flight, progress=_progress(as_json)
        )
        savepoint_text.show(to, metadata, as_json=as_json)


@app.command("list")
def list_(
    folder: Annotated[str, typer.Argument(help="The folder that holds savepoints.")], as_json: JsonOption = False
) -> None:
    """Show the savepoints directly below a folder, newest first."""
    files = Folder(folder).list_files()
    if files is None:
        raise StateNotFound(f"{folder} does not exist.", "give the folder that holds savepoints.")
    names = sorted(
        {file.name.split("/")[0] for file in files if re.fullmatch(r"[^/]+/_(metadata|unfinished)", file.name)}
    )
    savepoint_text.show_list(folder, names, as_json=as_json)


@app.command("describe")
def describe(path: SavepointArgument, as_json: JsonOption = False) -> None:
    """Show what a savepoint is of, and its states: rows, columns, folders."""
    savepoint_text.show(path, SavepointFolder(path).metadata, as_json=as_json)


@app.command("verify")
def verify(path: SavepointArgument) -> None:
    """Read every byte and check it. Exits with 1 if something is damaged."""
    savepoint = SavepointFolder(path)
    savepoint.verify()
    console().print(f"All {len(savepoint.metadata.files)} files of {path} are sound.", soft_wrap=True)


@app.command("dispose")
def dispose(path: SavepointArgument, master: MasterOption = "local[1]", conf: ConfOption = None) -> None:
    """Remove a savepoint with all its files."""
    from snapline.savepoint.dispose import dispose_savepoint

    if (local := local_path(path)) is not None:
        dispose_savepoint(LocalFiles(local))
    else:
        from snapline.folder.hadoop_files import HadoopFiles

        with spark_session(master, conf) as session:
            dispose_savepoint(HadoopFiles(session, path))
    console().print(f"{path} is gone.", soft_wrap=True)


@app.command("export")
def export(
    savepoint: SavepointArgument,
    *,
    to: Annotated[str, typer.Option(help="The new checkpointLocation: a folder that is new or empty.")],
    provider: Annotated[str, typer.Option(help="The state store of Spark's to write for: rocksdb.")] = "rocksdb",
    parallelism: ParallelismOption = None,
    keep_query_id: KeepQueryIdOption = False,
    file_sink: FileSinkOption = None,
    operators: MapOption = None,
    allow_non_restored_state: AllowOption = False,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
) -> None:
    """Write a checkpoint folder that Spark goes on from without Snapline."""
    from snapline.savepoint import export_savepoint
    from snapline.savepoint.foreign import provider_class
    from snapline.savepoint.matching import operator_map

    provider_class(provider)
    mapped = operator_map(operators or ())
    _check_restore(LocalPaths(conf), savepoint, to, parallelism, mapped, allow_non_restored_state)
    with spark_session(master, conf) as session:
        metadata = export_savepoint(
            session,
            savepoint,
            to,
            provider=provider,
            parallelism=parallelism,
            keep_query_id=keep_query_id,
            file_sink=file_sink,
            operators=mapped,
            allow_non_restored_state=allow_non_restored_state,
            progress=_progress(quiet=False),
        )
    _written(to, metadata, "start the query on it, on Spark's own state store")


def restore(
    savepoint: SavepointArgument,
    *,
    to: Annotated[str, typer.Option(help="The new checkpointLocation: a folder that is new or empty.")],
    parallelism: ParallelismOption = None,
    keep_query_id: KeepQueryIdOption = False,
    file_sink: FileSinkOption = None,
    operators: MapOption = None,
    allow_non_restored_state: AllowOption = False,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
) -> None:
    """Write a checkpoint folder that a query goes on from."""
    from snapline.savepoint import restore_savepoint
    from snapline.savepoint.matching import operator_map

    mapped = operator_map(operators or ())
    _check_restore(LocalPaths(conf), savepoint, to, parallelism, mapped, allow_non_restored_state)
    with spark_session(master, conf) as session:
        metadata = restore_savepoint(
            session,
            savepoint,
            to,
            parallelism=parallelism,
            keep_query_id=keep_query_id,
            file_sink=file_sink,
            operators=mapped,
            allow_non_restored_state=allow_non_restored_state,
            progress=_progress(quiet=False),
        )
    _written(to, metadata, "start the query on it")


def rescale(
    checkpoint: Annotated[str, typer.Argument(help="The checkpointLocation of a query on Snapline's state store.")],
    *,
    to: Annotated[str, typer.Option(help="The new checkpointLocation: a folder that is new or empty.")],
    parallelism: Annotated[int, typer.Option(min=1, help="Partitions of the state there.")],
    number: NumberOption = None,
    keep_query_id: KeepQueryIdOption = False,
    file_sink: FileSinkOption = None,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
) -> None:
    """Write a checkpoint folder with the state of another one, at another parallelism."""
    from snapline.savepoint import rescale_checkpoint

    paths = LocalPaths(conf)
    paths.check_checkpoint(checkpoint, number)
    paths.check_new(to, "the restored query")
    with spark_session(master, conf) as session:
        metadata = rescale_checkpoint(
            session,
            checkpoint,
            to,
            parallelism=parallelism,
            number=number,
            keep_query_id=keep_query_id,
            file_sink=file_sink,
            progress=_progress(quiet=False),
        )
    _written(to, metadata, "start the query on it")


def _check_restore(
    paths: LocalPaths, savepoint: str, to: str, parallelism: int | None, operators: OperatorMap, may_leave_out: bool
) -> None:
    """The checks that need no Spark, before it starts; the restore itself makes all of them again."""
    from snapline.savepoint.matching import match_by_hand
    from snapline.savepoint.parallelism import check_range

    paths.check_new(to, "the restored query")
    metadata = paths.read_savepoint(savepoint)
    if metadata is not None:
        match_by_hand(metadata.operators, operators, may_leave_out)
        check_range(metadata, parallelism)


def _written(checkpoint: str, metadata: SavepointMetadata, next_step: str) -> None:
    console().print(f"{checkpoint} goes on after batch {metadata.batch}: {next_step}.", soft_wrap=True)


def _progress(quiet: bool) -> savepoint_text.Progress:
    return (lambda step: None) if quiet else (lambda step: console().print(f"… {step}", soft_wrap=True))
