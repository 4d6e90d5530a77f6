"""A checkpoint folder in memory that fails where it is told to, and a Spark that only keeps its logs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from snapline.folder.files import already_there, not_there


class Crash(Exception):
    """The process is gone."""


class FakeFiles:
    """Files with the checksums that Hadoop keeps beside them. Counts its operations down, and then crashes.

    A rename copies, deletes, and moves the checksum: a crash may fall between any two of these.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.checksums: set[str] = set()
        self.fuse: int | None = None
        self.steps = 0

    @property
    def location(self) -> str:
        return "memory:/checkpoint"

    def put(self, name: str, data: bytes) -> None:
        self.files[name] = data
        self.checksums.add(name)

    def tick(self) -> None:
        self.steps += 1
        if self.fuse is not None:
            if self.fuse == 0:
                raise Crash
            self.fuse -= 1

    def list(self, folder: str) -> list[str]:
        self.tick()
        below = (name[len(folder) + 1 :] for name in self.files if name.startswith(f"{folder}/"))
        return sorted({name.partition("/")[0] for name in below})

    def walk(self, folder: str) -> Sequence[str]:
        self.tick()
        return sorted(name[len(folder) + 1 :] for name in self.files if name.startswith(f"{folder}/"))

    def exists(self, name: str) -> bool:
        self.tick()
        return name in self.files or any(each.startswith(f"{name}/") for each in self.files)

    def read(self, name: str) -> bytes:
        self.tick()
        if name not in self.files:
            raise not_there(name)
        return self.files[name]

    def size(self, name: str) -> int:
        return len(self.read(name))

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        return self.read(name)[offset : offset + length]

    def write_new(self, name: str, data: bytes) -> None:
        self.tick()
        if name in self.files:
            raise already_there(name)
        self.put(name, data)
        self.tick()

    def rename(self, source: str, target: str) -> None:
        self.tick()
        if source not in self.files:
            raise not_there(source)
        if target in self.files:
            raise already_there(target)
        self.files[target] = self.files[source]
        self.tick()
        del self.files[source]
        self.tick()
        # As Hadoop's ChecksumFileSystem does it: the checksum last.
        self.checksums.discard(target)
        if source in self.checksums:
            self.checksums.remove(source)
            self.checksums.add(target)
        self.tick()

    def delete(self, name: str) -> None:
        self.tick()
        for each in sorted({*self.files, *self.checksums}):
            if each == name or each.startswith(f"{name}/"):
                self.files.pop(each, None)
                self.tick()
                self.checksums.discard(each)
                self.tick()


class FakeSpark:
    """Runs the batch that the logs say is next, and keeps what its state is made of.

    Attributes:
        runs: every batch that was run to its end, in order.
    """

    def __init__(self, files: FakeFiles, checkpoint_format: int, drop: int = 0) -> None:
        self._files = files
        self._format = checkpoint_format
        self._drop = drop
        self.runs: list[int] = []
        self.attempts = 0
        self.planned = -1

    def commit(self, batch: int, run: int, drop: int = 0) -> bytes:
        metadata: dict[str, object] = {"nextBatchWatermarkMs": batch * 1000 - drop}
        if self._format == 2:
            metadata["stateUniqueIds"] = {"0": [[f"{batch}-{run}-0"], [f"{batch}-{run}-1"]]}
        return f"v{self._format}\n{json.dumps(metadata, separators=(',', ':'))}".encode()

    def offsets(self, batch: int) -> bytes:
        return f'v1\n{{"batchWatermarkMs":{batch * 1000 - 1000},"batchTimestampMs":{batch}}}\n{{"n":{batch}}}'.encode()

    def write_logs(self, committed: int, planned: int) -> None:
        """As they are when the query has died."""
        self.planned = planned
        for batch in range(planned + 1):
            self._files.put(f"offsets/{batch}", self.offsets(batch))
        for batch in range(committed + 1):
            self._files.put(f"commits/{batch}", self.commit(batch, run=0))

    def run_batch(self, batch: int) -> None:
        """What Spark does with these logs must be: batch ``batch``, with its very offsets."""
        assert batches(self._files, "offsets")[-1] == batch
        assert batches(self._files, "offsets") == list(range(batch + 1))
        assert batches(self._files, "commits") == list(range(batch))
        assert all(self._files.files[f"offsets/{each}"] == self.offsets(each) for each in range(batch + 1))
        name = f"commits/{batch}"
        assert name not in self._files.checksums, "a checksum left behind blocks the write"
        self.attempts += 1
        self._files.tick()
        self._files.put(name, self.commit(batch, run=self.attempts, drop=self._drop))
        self.runs.append(batch)
        self._files.tick()


def batches(files: FakeFiles, folder: str) -> list[int]:
    return sorted(int(name[len(folder) + 1 :]) for name in files.files if name.startswith(f"{folder}/"))
