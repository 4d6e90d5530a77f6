"""``snapline checkpoints watch``: what is in the folder, again and again."""

from __future__ import annotations

import sys
import time

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from snapline.cli.numbered import as_table, base_text, replay_text
from snapline.cli.text import console, number
from snapline.inspect import Glance, glance
from snapline.inspect.files import Folder
from snapline.inspect.summary import summarize_numbered


def watch(path: str, *, interval: float, newest: int, once: bool) -> None:
    """Prints to standard output: in place on a terminal, else a block whenever something has changed.

    Raises:
        NotACheckpoint: the folder has no logs of a query.
        StorageFailure: the file system refused.
    """
    folder, out = Folder(path), console()
    seen = glance(folder)
    if once:
        out.print(_view(path, seen, newest))
        return
    try:
        if sys.stdout.isatty():
            with Live(_view(path, seen, newest), console=out, auto_refresh=False) as live:
                while True:
                    time.sleep(interval)
                    live.update(_view(path, glance(folder), newest), refresh=True)
        while True:
            out.print(_view(path, seen, newest))
            out.print()
            before = seen
            while seen == before:
                time.sleep(interval)
                seen = glance(folder)
    except KeyboardInterrupt:
        return


def _view(path: str, seen: Glance, newest: int) -> RenderableType:
    lines = [f"Checkpoint {path}", f"batch {number(seen.planned)} planned, {number(seen.committed)} done"]
    if seen.restart is None:
        lines[-1] += ", each durable by itself"
    else:
        lines[-1] += f", {number(seen.restart.lag)} since {base_text(seen.restart)}"
    if seen.replay is not None:
        lines.append(replay_text(seen.replay))
    parts: list[RenderableType] = [Text(line) for line in lines]
    if not seen.checkpoints:
        return Group(*parts, Text("No numbered checkpoint yet."))
    return Group(*parts, Text(), as_table([summarize_numbered(each) for each in seen.checkpoints[-newest:]]))
