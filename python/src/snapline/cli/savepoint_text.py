"""How savepoints look: in a list, and one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from snapline.cli.text import console, moment, number, print_json, size, table
from snapline.errors import SnaplineError
from snapline.inspect import SavepointFolder
from snapline.savepoint.metadata import SavepointMetadata

Progress = Callable[[str], None]


def show(path: str, metadata: SavepointMetadata, *, as_json: bool) -> None:
    """Prints one savepoint."""
    if as_json:
        print_json(_as_dict(path, metadata))
        return
    out = console()
    taken = "the newest batch" if metadata.checkpoint is None else f"checkpoint {metadata.checkpoint}"
    lines = {
        "savepoint": f"{path}, {metadata.format}, {metadata.id}",
        "query": f"{metadata.query}, batch {number(metadata.batch)}, taken of {taken}",
        "created": moment(metadata.created),
        "watermark": moment(metadata.commit_entry.watermark_ms) if metadata.commit_entry.watermark_ms else "none",
        "parallelism": f"{metadata.parallelism}, up to {number(metadata.max_parallelism)}",
        "size": f"{size(metadata.size)} in {len(metadata.files)} files",
        "read from": metadata.provider,
        "written by": f"Snapline {metadata.writer} on Spark {metadata.spark}",
    }
    width = max(map(len, lines))
    for name, text in lines.items():
        out.print(f"{name:<{width}}  {text}", soft_wrap=True)
    out.print()
    states = table("States", "operator", "name", "state", "rows", "folder", numbers=("rows",))
    for operator in metadata.operators:
        for key in operator.states:
            states.add_row(
                str(operator.id), operator.uid or operator.name, key.name, number(metadata.rows[key.folder]), key.folder
            )
    out.print(states)
    for operator in metadata.operators:
        if operator.id in metadata.in_flight:
            out.print(f"{operator.title} has rows that wait: they are processed before any new one", soft_wrap=True)
        for state, why in operator.fixed.items():
            out.print(f"{operator.title} keeps its parallelism: state {state}: {why}", soft_wrap=True)


def show_list(folder: str, names: Sequence[str], *, as_json: bool) -> None:
    """Prints the savepoints of these names in a folder; what cannot be read is shown with the reason."""
    found: list[tuple[str, SavepointMetadata | SnaplineError]] = []
    for name in names:
        try:
            found.append((name, SavepointFolder(_path(folder, name)).metadata))
        except SnaplineError as e:
            found.append((name, e))
    found.sort(key=lambda each: -each[1].created if isinstance(each[1], SavepointMetadata) else 0)
    if as_json:
        print_json([_as_item(_path(folder, name), each) for name, each in found])
        return
    if not found:
        console().print(f"No savepoint lies directly below {folder}.", soft_wrap=True)
        return
    columns = ("created", "query", "batch", "format", "size")
    listing = table(f"Savepoints in {folder}", "name", *columns, numbers=("batch", "size"))
    for name, each in found:
        if isinstance(each, SavepointMetadata):
            listing.add_row(name, moment(each.created), each.query, number(each.batch), each.format, size(each.size))
        else:
            listing.add_row(name, "-", f"{each.code}: {each.found}", "-", "-", "-")
    console().print(listing)


def _path(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def _as_item(path: str, each: SavepointMetadata | SnaplineError) -> dict[str, Any]:
    return _as_dict(path, each) if isinstance(each, SavepointMetadata) else {"path": path, "found": str(each)}


def _as_dict(path: str, metadata: SavepointMetadata) -> dict[str, Any]:
    return {
        "path": path,
        "id": metadata.id,
        "format": metadata.format,
        "created": metadata.created,
        "query": metadata.query,
        "batch": metadata.batch,
        "checkpoint": metadata.checkpoint,
        "watermark": metadata.commit_entry.watermark_ms,
        "parallelism": metadata.parallelism,
        "max_parallelism": metadata.max_parallelism,
        "provider": metadata.provider,
        "writer": metadata.writer,
        "spark": metadata.spark,
        "bytes": metadata.size,
        "files": len(metadata.files),
        "in_flight": list(metadata.in_flight),
        "states": [
            {
                "operator": operator.id,
                "operator_name": operator.name,
                "uid": operator.uid,
                "state": key.name,
                "rows": metadata.rows[key.folder],
                "folder": key.folder,
                "keeps_parallelism": operator.fixed.get(key.family),
            }
            for operator in metadata.operators
            for key in operator.states
        ],
    }
