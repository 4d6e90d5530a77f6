"""What `job.py` is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Orders:
    """
    Attributes:
        checkpoint: path or URI.
        source: format and options of what is read; rows are JSON, in `value` where the format is Kafka.
        sink: `batches`, a folder of one file for each batch; `kafka`, `delta`, or `postgres`; `snapline-kafka`,
            `snapline-jdbc`, or `delta-once`. `sink_options`: of it.
        interval: of checkpoints, in seconds; None: every batch is durable.
        ends: takes in what is there, makes state durable, writes it to `state`, and ends; else runs until it is killed.
        restarts: how often the query starts again by itself.
        budget: of a batch in seconds, after which it is cut (`docs/unaligned.md`); its rows take 3 ms each.
            None: no batch is cut.
        real_time: the trigger's time in Spark's real-time mode; None: micro-batches.
        conf: of the session.
    """

    checkpoint: str
    source: str
    source_options: Mapping[str, str]
    sink: str
    sink_options: Mapping[str, str]
    state: str
    local: str
    interval: float | None = None
    format: int = 1
    ends: bool = False
    restarts: int = 0
    budget: float | None = None
    real_time: str | None = None
    tolerable_failures: int = 0
    master: str = "local[2]"
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: Sequence[str] = ()

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> Orders:
        return cls(**json.loads(path.read_text()))
