"""Raw operator state: bytes that the system stores and does not look at."""

from __future__ import annotations

from io import BytesIO, RawIOBase
from typing import Any

from snapline.errors import InvalidConfiguration


class RawStateOutput(RawIOBase):
    """A stream that ``snapshot_state`` writes to; what it does not write is gone.

    The bytes are divided by :meth:`start_new_partition`: each part is whole wherever it goes when the parallelism
    changes, and comes back as a stream of its own.
    """

    def __init__(self) -> None:
        self._parts: list[BytesIO] = []

    def start_new_partition(self) -> None:
        """Begins a new part."""
        self._parts.append(BytesIO())

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        """Writes bytes; those before the first part begin one."""
        if self.closed:
            raise InvalidConfiguration(
                "raw state is written after snapshot_state().", "write it in snapshot_state, and keep no stream."
            )
        if not self._parts:
            self.start_new_partition()
        return self._parts[-1].write(data)

    def parts(self) -> list[bytes]:
        """The parts that were written."""
        return [part.getvalue() for part in self._parts]
