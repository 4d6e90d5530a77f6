"""Where Spark's Python worker enters: a plain function with our own reading and writing of its socket."""

from __future__ import annotations

import gc
import os
import socket
from typing import Any, BinaryIO

from snapline.worker.frames import Connection
from snapline.worker.hangup import HangupWatch, descriptor_of
from snapline.worker.job import Job
from snapline.worker.worker import Worker

#: Rows are tuples, which count as possible garbage: at the default of 700 they are gone through again and again.
_GC_THRESHOLD = 100_000


class RawInput:
    """In the place of a deserializer: gives the stream itself."""

    def load_stream(self, stream: BinaryIO) -> BinaryIO:
        return stream


class RawOutput:
    """In the place of a serializer: lets the task write the stream itself."""

    def dump_stream(self, task: Task, stream: BinaryIO) -> None:
        task.run(stream)


class Task:
    """One run of the worker over the streams of a Spark task."""

    def __init__(self, job: Job, infile: BinaryIO) -> None:
        self._job = job
        self._infile = infile

    def run(self, outfile: BinaryIO) -> None:
        thresholds = gc.get_threshold()
        gc.set_threshold(_GC_THRESHOLD, *thresholds[1:])
        _send_at_once(outfile)
        connection = Connection(self._infile, outfile)
        worker = Worker(self._job, connection)
        try:
            with HangupWatch(self._infile):
                while worker.handle(connection.read()):
                    pass
        except BaseException:
            worker.abandon()
            raise
        finally:
            gc.set_threshold(*thresholds)


def _send_at_once(stream: BinaryIO) -> None:
    """Turns off Nagle's algorithm.

    The last packet of an answer would wait up to 40 ms for the acknowledgement of the one before. A Unix socket has no
    such option.
    """
    descriptor = descriptor_of(stream)
    if descriptor is None:
        return
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Entry:
    """The function that Spark calls with the partition and what :class:`RawInput` gave."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, partition: int, infile: Any) -> Task:
        return Task(self._job, infile)
