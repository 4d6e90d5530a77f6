"""What a life of the job is told to do, in a file beside its log: `python -m integration.drill.job …/life-003.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

QUERIES = ("windows", "chains", "totals", "sessions")


@dataclass(frozen=True, kw_only=True)
class Work:
    """A folder of queries that run side by side, all with the same checkpoints.

    Attributes:
        folder: of output and checkpoints.
        source: has a folder of files for each query; None: ``input`` in ``folder``.
        format: of Spark's checkpoints.
        interval: of ours, in seconds; None: every batch is durable.
        pause: between two checkpoints, in seconds.
        retained: checkpoints that are kept.
        backend: where working state is: rocksdb or hashmap.
        merging: the stores of an executor share a file of handles.
        uploads: changelogs go to storage behind the batches.
        restarts: how often a query that fails starts again by itself.
        tables: queries that write to SQLite; the others write Parquet files, of which Spark keeps a log.
        plain: started by Spark alone.
    """

    folder: str
    source: str | None = None
    format: int = 1
    interval: float | None = None
    pause: float = 0
    retained: int = 2
    backend: str = "rocksdb"
    merging: bool = False
    uploads: bool = False
    restarts: int = 0
    queries: Sequence[str] = QUERIES
    tables: Sequence[str] = ("totals",)
    plain: bool = False

    @property
    def path(self) -> Path:
        return Path(self.folder)

    def input(self, query: str) -> Path:
        return (self.path / "input" if self.source is None else Path(self.source)) / query

    def checkpoint(self, query: str) -> Path:
        return self.path / "checkpoints" / query


@dataclass(frozen=True, kw_only=True)
class Orders:
    """
    Attributes:
        local: where Spark keeps what is not to stay.
        ends: takes in what is there, makes state durable, writes it down, and ends; else runs until it is killed.
        together: all works at once; else one after the other, and a failure ends its own work only.
        persists: a failure of one query ends no other, and the process ends when all have failed.
        waits: when its session is there, for a line on its standard input, and reads its orders again.
        files: jar of LocalFiles.java.
        java: options of the driver's JVM.
        conf: of Spark.
    """

    works: Sequence[Work]
    local: str
    ends: bool
    files: str
    together: bool = True
    persists: bool = False
    waits: bool = False
    master: str = "local[2]"
    java: Sequence[str] = field(default_factory=tuple)
    conf: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self), indent=1))
        # Whole at once: a life that waits may be reading it.
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> Orders:
        text = json.loads(path.read_text())
        return cls(**{**text, "works": [Work(**work) for work in text["works"]]})
