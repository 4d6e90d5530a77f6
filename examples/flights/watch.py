"""Shows the progress of the job: a table that is drawn anew, or lines for a log."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol

from progress import Progress, QueryProgress
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text


class Watch(Protocol):
    """Somebody who is told what happens."""

    def __enter__(self) -> Watch: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def event(self, text: str) -> None:
        """Something that happens once and stays on the screen."""

    def update(self) -> None:
        """The progress may have changed."""


class LiveWatch:
    """A table that moves, with the events above it."""

    def __init__(self, console: Console, progress: Progress) -> None:
        self._progress = progress
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> LiveWatch:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.update()
        self._live.stop()

    def event(self, text: str) -> None:
        self._live.console.print(text)

    def update(self) -> None:
        self._live.update(Group(Text(), progress_table(self._progress)), refresh=True)


class PlainWatch:
    """A line a query every few seconds, and the whole table at the end."""

    def __init__(self, console: Console, progress: Progress, every_seconds: float = 10) -> None:
        self._console = console
        self._progress = progress
        self._every = every_seconds
        self._last = time.monotonic()

    def __enter__(self) -> PlainWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._console.print(progress_table(self._progress))

    def event(self, text: str) -> None:
        self._console.print(text)

    def update(self) -> None:
        if time.monotonic() - self._last < self._every:
            return
        self._last = time.monotonic()
        parts = [f"{q.name} {q.rows:,} rows in {q.batches} batches" for q in self._progress.queries.values()]
        self._console.print("  " + ", ".join(parts), soft_wrap=True)


def progress_table(progress: Progress) -> Table:
    """One line a query. Speeds are means over the batches so far, state is as of the newest batch."""
    table = Table("query", "", box=None, pad_edge=False)
    for heading in ("batches", "rows", "rows/s", "state rows", "state memory", "commit"):
        table.add_column(heading, justify="right")
    for query in progress.queries.values():
        table.add_row(query.name, ProgressBar(query.total_rows, query.rows, width=24), *_numbers(query))
    return table


def _numbers(query: QueryProgress) -> list[str]:
    return [
        f"{query.batches}",
        f"{query.rows:,}",
        f"{query.rows_per_second:,.0f}",
        f"{query.state_rows:,}",
        f"{query.state_bytes / 1024:,.0f} KiB",
        f"{query.commit_ms:,.0f} ms",
    ]
