"""A worker behind a socket, entered as Spark enters it: pickled, with the two streams."""

from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from pyspark import cloudpickle

from snapline.worker.entry import Entry, RawInput, RawOutput
from snapline.worker.frames import Connection, Frame, ToWorker
from snapline.worker.job import Job


class SocketLink:
    """Frames through a pair of sockets; the worker has a thread of its own, which ends with the task."""

    def __init__(self, job: Job, answer: Callable[[Frame], Frame | None]) -> None:
        ours, theirs = socket.socketpair()
        self._sockets = [ours, theirs]
        self._out = ours.makefile("wb")
        self._connection = Connection(ours.makefile("rb"), self._out)
        command = cloudpickle.dumps((Entry(job), None, RawInput(), RawOutput()))
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, args=(command, theirs), daemon=True)
        self._thread.start()

    def _work(self, command: bytes, theirs: socket.socket) -> None:
        infile, outfile = theirs.makefile("rb"), theirs.makefile("wb")
        function, _, deserializer, serializer = pickle.loads(command)
        try:
            task: Any = function(0, deserializer.load_stream(infile))
            serializer.dump_stream(task, outfile)
        except BaseException as e:
            self._error = e
        finally:
            outfile.close()
            infile.close()
            theirs.close()

    def send(self, frame: Frame) -> None:
        self._connection.send(frame.kind, frame.meta, list(frame.parts.items()))
        self._out.flush()
        if frame.kind == ToWorker.END:
            self._thread.join(1)

    def overtaken(self) -> Iterator[Frame]:
        # A socket keeps their order.
        return iter(())

    def receive(self) -> Frame:
        try:
            return self._connection.read()
        except EOFError:
            self._thread.join()
            if self._error is not None:
                raise self._error from self._error.__cause__
            raise
