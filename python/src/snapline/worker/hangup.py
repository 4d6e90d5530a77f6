"""Ends a worker whose operator is gone."""

from __future__ import annotations

import os
import select
import threading
from io import UnsupportedOperation
from types import TracebackType
from typing import BinaryIO

#: How long user code may take to come to the connection and end by itself, in ms; as long as Spark gives a killed task.
_PATIENCE_MS = 2_000

#: That the peer has closed, while bytes of it may still be unread. Not every system tells it before they are read.
_HANGUP = getattr(select, "POLLRDHUP", 0)


#: How often to look for the parent, in ms, where the connection cannot be watched.
_LOOK_MS = 500


class HangupWatch:
    """While it is open, the process ends soon after the other end of the connection has closed.

    A worker that Spark starts without its daemon has a stream that does not tell its descriptor; there the JVM is its
    parent, and the process ends soon after that.

    A function in a loop of its own never comes to read or write, and would run on beside the next attempt's. Owns a
    thread and a pipe, which closing ends.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._connection = descriptor_of(stream)
        self._parent = os.getppid()
        self._closing, self._close = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="snapline hang-up watch", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # Not by closing it: a process that user code has forked may hold it open.
        os.write(self._close, b"\0")
        self._thread.join()
        os.close(self._close)
        os.close(self._closing)

    def _watch(self) -> None:
        closing = select.poll()
        closing.register(self._closing, select.POLLIN)
        both = select.poll()
        both.register(self._closing, select.POLLIN)
        if self._connection is not None:
            both.register(self._connection, _HANGUP)
        while not (events := dict(both.poll(None if self._connection is not None else _LOOK_MS))):
            if os.getppid() != self._parent:
                break
        if self._closing not in events and not closing.poll(_PATIENCE_MS):
            # Nothing of the task is left that could be told; what user code holds is the system's to clean up.
            os._exit(1)


def descriptor_of(stream: BinaryIO) -> int | None:
    """The socket of a worker's connection; None if Spark's stream does not tell it, as without its daemon."""
    try:
        return stream.fileno()
    except UnsupportedOperation:
        return None
