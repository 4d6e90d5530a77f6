"""How numbered checkpoints look: in a table, in a sentence on where a restart begins, and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from snapline.cli.text import console, duration, moment, number, print_json, size, table
from snapline.errors import CheckpointDamaged, SnaplineError, StateNotFound
from snapline.folder.metadata import CheckpointMetadata
from snapline.inspect import CheckpointFolder, NumberedCheckpoint, NumberedSummary, ReplayProgress, Restart, Status
from snapline.inspect.store_files import StoreKey

_COLOURS = {
    Status.COMPLETE: "green",
    Status.OUT_OF_REACH: "yellow",
    Status.DAMAGED: "red",
    Status.SET_ASIDE: "red",
    Status.INCOMPLETE: "yellow",
}


def as_table(checkpoints: Sequence[NumberedSummary]) -> Table:
    """The newest first, in the 80 columns of a terminal."""
    numbers = ("id", "batch", "took", "stores", "state", "written")
    columns = ("id", "kind", "batch", "triggered", *numbers[2:], "status")
    made = table("Numbered checkpoints (written: by the checkpoint itself)", *columns, numbers=numbers)
    for each in reversed(checkpoints):
        made.add_row(
            number(each.id),
            each.kind or "-",
            number(each.batch),
            # Without the year, which `describe` shows.
            moment(each.triggered)[5:] or "-",
            duration(each.duration),
            number(each.stores),
            size(each.state_size),
            size(each.checkpointed_size),
            Text(each.status, _COLOURS[Status(each.status)]),
        )
    return made


def replay_text(replay: ReplayProgress) -> str:
    """The recovery that has begun, in words."""
    base = f"checkpoint {replay.checkpoint}" if replay.checkpoint else "the empty state"
    if replay.batch is None:
        return f"A replay from {base} is done: all {number(replay.total)} batches, up to {number(replay.planned)}."
    return (
        f"A replay from {base} has begun: batch {number(replay.batch)} of {number(replay.planned)} is next or under "
        f"way, {number(replay.done)} of {number(replay.total)} done. If it was cut short, the next start with "
        "snapline.start goes on with it."
    )


def base_text(restart: Restart) -> str:
    """Where a recovery begins, in words."""
    if restart.checkpoint is not None:
        return f"checkpoint {restart.checkpoint}"
    return f"batch {number(restart.batch)}, before there was an interval" if restart.batch >= 0 else "the empty state"


def restart_text(restart: Restart) -> str:
    """Where a start of a query with an interval begins, and what it rebuilds."""
    base = base_text(restart)
    if restart.checkpoint is not None:
        if restart.changelogs:
            base += f" and the changelogs of {_batches(restart.changelogs)} after it"
        base += f", the state after batch {number(restart.batch)}"
    if not restart.lag:
        return f"A restart takes {base}. No batch came after it."
    begins_there = restart.checkpoint is not None and not restart.changelogs
    since = f"since checkpoint {restart.checkpoint}" if begins_there else "since then"
    return (
        f"A restart takes {base}. {_batches(restart.lag)} {since}, rebuilt by replay at the next start with "
        "snapline.start: with an interval that is normal."
    )


def _batches(count: int) -> str:
    return f"{number(count)} {'batch' if count == 1 else 'batches'}"


def choose(checkpoint: CheckpointFolder, wanted: int) -> NumberedCheckpoint:
    """
    Raises:
        StateNotFound: there is no such checkpoint.
        CheckpointDamaged, UnsupportedVersion: it cannot be read.
    """
    found = {each.id: each for each in checkpoint.numbered.read()}
    each = found.get(wanted)
    if each is None:
        names = ", ".join(map(str, found)) or "none"
        raise StateNotFound(
            f"no checkpoint {wanted} in {checkpoint.location}; there is {names}.", "ask for one of those."
        )
    if each.metadata is None:
        raise _unreadable(each)
    return each


def _unreadable(each: NumberedCheckpoint) -> SnaplineError:
    if each.error is not None:
        return each.error
    return CheckpointDamaged(
        f"{each.file_name} is not there: checkpoint {each.id} was never complete, or is being taken.",
        "ask for another, or wait.",
    )


def show(each: NumberedCheckpoint, operator: int | None, partition: int | None, *, as_json: bool) -> None:
    """Prints one checkpoint; of its stores those of an operator or a partition, if asked so."""
    meta = each.metadata
    assert meta is not None
    rows = _rows(meta, operator, partition)
    if as_json:
        print_json(_as_dict(each, meta, rows))
        return
    out = console()
    _show_head(each, meta, out)
    columns = ("operator", "name", "partition", "store", "version", "uid", "bytes", "uploaded", "sync", "async")
    stores = table("Stores", *columns, numbers=("operator", "partition", "version", *columns[6:]))
    for row in rows:
        stores.add_row(
            str(row["operator"]),
            row["name"],
            str(row["partition"]),
            row["store"],
            number(row["version"]),
            row["uid"],
            size(row["bytes"]),
            size(row["uploaded_bytes"]),
            duration(row["sync"]),
            duration(row["async"]),
        )
    out.print(stores)


def _show_head(each: NumberedCheckpoint, meta: CheckpointMetadata, out: Console) -> None:
    lines = {
        "checkpoint": f"{meta.id}, {each.status.value}, {meta.properties}",
        "query": f"{meta.query}, run {meta.run}",
        "batch": number(meta.batch),
        **_ahead(meta),
        "triggered": moment(meta.triggered),
        "acknowledged": f"{moment(meta.acknowledged)}, after {duration(meta.acknowledged - meta.triggered)}",
        "completed": f"{moment(meta.completed)}, after {duration(meta.completed - meta.triggered)}",
        "watermark": moment(meta.watermark) if meta.watermark else "none",
        "state": f"{size(meta.state_size)}, of it {size(meta.checkpointed_size)} written by this checkpoint",
        **({"in flight": f"{size(meta.in_flight)} of rows that were not processed"} if meta.in_flight else {}),
        "key groups": number(meta.max_parallelism),
        "written by": f"Snapline {meta.writer} on Spark {meta.spark}",
    }
    if each.error is not None:
        lines["found"] = each.error.found
    width = max(map(len, lines))
    for name, text in lines.items():
        out.print(f"{name:<{width}}  {text}", soft_wrap=True)
    # The first two lines are the format and Spark's own; then a line for each source.
    for source in meta.offsets.split("\n")[2:]:
        out.print(f"{'offsets':<{width}}  {source}", soft_wrap=True)
    out.print()


def _ahead(meta: CheckpointMetadata) -> dict[str, str]:
    if not meta.ahead:
        return {}
    stores = sum(1 for _ in meta.handles())
    return {"at least once": f"{meta.ahead} of {stores} stores hold batches up to {number(meta.newest_batch)}"}


def _rows(meta: CheckpointMetadata, operator: int | None, partition: int | None) -> list[dict[str, Any]]:
    rows = [
        {
            "operator": each.id,
            "name": each.name,
            "parallelism": each.parallelism,
            "partition": handle.partition,
            "store": store.name,
            "version": handle.ref.version,
            "uid": handle.ref.uid,
            "bytes": handle.bytes,
            "handle_bytes": handle.handle_bytes,
            "uploaded_files": handle.uploaded_files,
            # As the checkpoint's own size counts: small state lies in its handle.
            "uploaded_bytes": handle.uploaded_bytes + handle.handle_bytes,
            "sync": handle.sync,
            "async": handle.async_,
            "in_flight": handle.in_flight,
            "files": [file._asdict() for file in handle.files],
        }
        for each, store, handle in meta.handles()
        if operator in (None, each.id) and partition in (None, handle.partition)
    ]
    if not rows and any(meta.handles()):
        key = StoreKey(-1 if operator is None else operator, -1 if partition is None else partition, "default")
        raise StateNotFound(f"checkpoint {meta.id} has no store of {key}.", "leave out --operator and --partition.")
    return rows


def _as_dict(each: NumberedCheckpoint, meta: CheckpointMetadata, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "checkpoint": meta.id,
        "status": each.status.value,
        "properties": meta.properties,
        "query": meta.query,
        "run": meta.run,
        "batch": meta.batch,
        "ahead": meta.ahead,
        "newest_batch": meta.newest_batch,
        "triggered": meta.triggered,
        "acknowledged": meta.acknowledged,
        "completed": meta.completed,
        "watermark": meta.watermark,
        "max_parallelism": meta.max_parallelism,
        "state_size": meta.state_size,
        "checkpointed_size": meta.checkpointed_size,
        "offsets": meta.offsets,
        "commit": meta.commit,
        "writer": meta.writer,
        "spark": meta.spark,
        "found": None if each.error is None else each.error.found,
        "stores": rows,
    }
