"""Frames on the wire (docs/notes/003-keyed-process.md, "The exchange")."""

from __future__ import annotations

import json
import struct
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, BinaryIO, NamedTuple, Protocol

import pyarrow as pa

from snapline.errors import InternalError

PROTOCOL = 1

ROWS_PART, KEYS_PART, TIMERS_PART, BROADCAST_PART, OUTPUT_PART, TIMER_CHANGES_PART = 1, 2, 3, 4, 10, 11
STATE_PART, NOT_SENT_PART, CHANGES_PART = 100, 200, 300
OPERATOR_PART, OPERATOR_CHANGES_PART = 400, 500


class ToWorker(IntEnum):
    """Kinds of frames from the operator."""

    SETUP = 1
    ROWS = 2
    TIMERS = 3
    FETCHED = 4
    END = 5
    STATES = 6
    BROADCAST = 7


class ToOperator(IntEnum):
    """Kinds of frames from the worker."""

    OUTPUT = 1
    CHANGES = 2
    DONE = 3
    EPOCH_DONE = 4
    FETCH = 5
    FINISHED = 6


class Frame(NamedTuple):
    """One frame; the parts are Arrow messages by part id."""

    kind: int
    meta: dict[str, Any]
    parts: dict[int, pa.Buffer]

    def batch(self, part: int, schemas: dict[int, pa.Schema]) -> pa.RecordBatch | None:
        """A part as a record batch, if the frame has it."""
        message = self.parts.get(part)
        return None if message is None else pa.ipc.read_record_batch(message, schemas[part])


class Transport(Protocol):
    """The other side, for the worker."""

    def send(self, kind: int, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> None: ...

    def fetch(self, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> Frame: ...


def encode_frame(kind: int, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> list[Any]:
    """The frame as byte strings to write one after the other."""
    text = json.dumps(meta, separators=(",", ":")).encode() if meta else b""
    sizes = [(part, len(message)) for part, message in parts]
    head = struct.pack(f">iii{2 * len(sizes)}i", kind, len(text), len(sizes), *(n for pair in sizes for n in pair))
    body: list[Any] = [head, text, _zeros(len(head) + len(text))]
    for _, message in parts:
        body += [message, _zeros(len(message))]
    return [struct.pack(">i", sum(map(len, body))), *body]


def decode_frame(body: pa.Buffer) -> Frame:
    """A frame from what follows its length. The parts are views."""
    kind, meta_length, count = struct.unpack_from(">iii", body, 0)
    sizes = struct.unpack_from(f">{2 * count}i", body, 12)
    at = 12 + 8 * count
    meta = json.loads(body[at : at + meta_length].to_pybytes()) if meta_length else {}
    at += meta_length
    parts: dict[int, pa.Buffer] = {}
    for part, length in zip(sizes[::2], sizes[1::2], strict=True):
        at += -at % 8
        parts[part] = body.slice(at, length)
        at += length
    return Frame(kind, meta, parts)


def _zeros(length: int) -> bytes:
    return bytes(-length % 8)


class Connection:
    """Frames over the two streams of a worker's socket; they belong to whoever opened them."""

    def __init__(self, infile: BinaryIO, outfile: BinaryIO) -> None:
        self._infile = infile
        self._outfile = outfile
        # Frames that the operator sent before it saw a FETCH; at most the two chunks that may be under way.
        self._waiting: deque[Frame] = deque()

    def read(self) -> Frame:
        """The next frame."""
        return self._waiting.popleft() if self._waiting else self._read()

    def _read(self) -> Frame:
        (length,) = struct.unpack(">i", self._fill(4))
        if length < 0:
            raise EOFError(f"the operator ended the exchange with mark {length}")
        return decode_frame(self._fill(length))

    def _fill(self, length: int) -> pa.Buffer:
        buffer = pa.allocate_buffer(length)
        view = memoryview(buffer)
        at = 0
        while at < length:
            count = self._infile.readinto(view[at:])  # type: ignore[attr-defined]
            if not count:
                raise EOFError("the operator closed the connection")
            at += count
        return buffer

    def send(self, kind: int, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> None:
        for piece in encode_frame(kind, meta, parts):
            self._outfile.write(piece)
        # The operator waits for nothing but these; the rest goes with them.
        if kind in (ToOperator.DONE, ToOperator.EPOCH_DONE, ToOperator.FETCH, ToOperator.FINISHED):
            self._outfile.flush()

    def fetch(self, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> Frame:
        """Asks, and keeps the chunks that arrive before the answer."""
        self.send(ToOperator.FETCH, meta, parts)
        while True:
            frame = self._read()
            if frame.kind != ToWorker.FETCHED:
                self._waiting.append(frame)
            elif frame.meta.get("request") == meta["request"]:
                return frame


def message_of(batch: pa.RecordBatch) -> pa.Buffer:
    """A record batch as an Arrow message without its schema."""
    return batch.serialize()


def unexpected(frame: Frame, where: str) -> InternalError:
    return InternalError(f"a frame of kind {frame.kind} {where}.", "report it, with the versions of jar and package.")
