"""The files of unaligned checkpoints in a checkpoint folder (docs/notes/010-unaligned.md)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from snapline.errors import IncompatibleState
from snapline.folder.files import Files
from snapline.folder.logs import COMMITS, OFFSETS, Log
from snapline.folder.restored import read_restored
from snapline.format.frame import damaged
from snapline.format.members import BadMeta
from snapline.format.meta_file import parse_meta_file
from snapline.format.names import Kind

#: There from the first start with unaligned checkpoints on, until nothing waits at a start without them.
UNALIGNED_MARK = "snapline/unaligned"
CUTS = "snapline/cuts"


def rows_wait(files: Files, batch: int | None = None) -> bool:
    """Whether a batch left rows or timers for the next; None: the newest that was committed.

    Raises:
        CheckpointDamaged: what was noted of it cannot be read.
    """
    if not files.exists(UNALIGNED_MARK):
        return False
    if batch is None:
        batch = Log(files, COMMITS).newest()
    return batch is not None and (bool(_cuts(files, batch)) or _waiting_since_restored(files, batch) is not None)


def operators_that_wait(files: Files, batch: int) -> tuple[int, ...]:
    """Numbers of the operators whose rows or timers a batch left for the next.

    Raises:
        CheckpointDamaged: what was noted of them cannot be read.
        IncompatibleState: the folder was begun with them, no batch was run since, and it does not say where they are.
    """
    if not files.exists(UNALIGNED_MARK):
        return ()
    since_restored = _waiting_since_restored(files, batch)
    if since_restored is not None:
        if not since_restored:
            raise IncompatibleState(
                f"{files.location} has rows that wait since an earlier version began it with a savepoint, and no "
                "batch was run.",
                "take that savepoint; or start the query first.",
            )
        return since_restored
    return tuple(sorted({int(name.split("-")[0]) for name in _cuts(files, batch)}))


def _waiting_since_restored(files: Files, batch: int) -> tuple[int, ...] | None:
    """Operators with rows that came with a savepoint and wait after that batch; None: no rows do."""
    restored = read_restored(files)
    waiting = None if restored is None else restored.waiting
    return waiting.operators if waiting is not None and waiting.after == batch else None


def _cuts(files: Files, batch: int) -> list[str]:
    folder = f"{CUTS}/{batch}"
    return [name for name in files.list(folder) if _was_cut(files, f"{folder}/{name}")]


def _was_cut(files: Files, name: str) -> bool:
    def parse(meta: dict[str, Any]) -> bool:
        cut = meta.get("cut")
        if cut not in ("none", "at", "within"):
            raise BadMeta(f"cut is {cut!r}")
        return bool(cut != "none")

    return parse_meta_file(files.read(name), f"{files.location}/{name}", Kind.CUT, parse, damaged)


def plan_batch_without_data(
    files: Files, watermark_ms: int = 0, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
) -> None:
    """Plans the batch after the newest one, with no new rows, so that rows that wait need no others.

    Spark plans such a batch by itself as long as a query runs, and not after it was started again. No query may run.

    Args:
        watermark_ms: the batch's watermark in milliseconds, if it is later than the one that is due.
    """
    offsets, commits = Log(files, OFFSETS), Log(files, COMMITS)
    newest = offsets.newest()
    if newest is None or newest != commits.newest():
        return  # a batch is planned already
    entry = offsets.read(newest)
    metadata = dict(entry.metadata)
    metadata["batchTimestampMs"] = max(now_ms(), metadata.get("batchTimestampMs", 0))
    due = max(commits.read(newest).watermark_ms, metadata.get("batchWatermarkMs", 0))
    metadata["batchWatermarkMs"] = max(due, watermark_ms)
    lines = entry.text.decode().split("\n")
    lines[1] = json.dumps(metadata, separators=(",", ":"))
    files.write_new(offsets.name(newest + 1), "\n".join(lines).encode())
