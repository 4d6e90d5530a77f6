"""One run of one bench on one provider: what the parent hands to a fresh process, and where that puts its result."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from snapline_bench.provider import Provider

Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    bench: str
    provider: Provider
    sizes: dict[str, Any]
    null_jar: Path
    data: Path
    scratch: Path
    checkpoints: Path

    @property
    def checkpoint(self) -> Path:
        """Where `incremental` leaves its checkpoint and `restart` finds it."""
        return self.checkpoints / self.provider.name

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), default=str))


def load_job(path: Path) -> Job:
    read = json.loads(path.read_text())
    provider = Provider(**{**read["provider"], "jars": tuple(read["provider"]["jars"])})
    paths = {name: Path(read[name]) for name in ("null_jar", "data", "scratch", "checkpoints")}
    return Job(read["bench"], provider, read["sizes"], **paths)
