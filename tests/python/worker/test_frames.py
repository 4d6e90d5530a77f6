from __future__ import annotations

import io
import struct

import pyarrow as pa
import pytest

from snapline.worker.frames import Connection, Frame, ToOperator, ToWorker, decode_frame, encode_frame, message_of

SCHEMA = pa.schema([("n", pa.int64())])
BATCH = pa.record_batch([pa.array([1, None, 3])], schema=SCHEMA)


def as_bytes(kind: int, meta: dict[str, object], parts: list[tuple[int, pa.Buffer]]) -> bytes:
    return b"".join(bytes(piece) for piece in encode_frame(kind, meta, parts))


@pytest.mark.parametrize("meta", [{}, {"a": 1}, {"a": "ü"}, {"text": "x" * 13}])
def test_a_frame_comes_back_as_it_was_sent(meta: dict[str, object]) -> None:
    sent = as_bytes(2, meta, [(1, message_of(BATCH)), (7, pa.py_buffer(b"abc"))])
    (length,) = struct.unpack(">i", sent[:4])
    assert length == len(sent) - 4
    assert length % 8 == 0
    frame = decode_frame(pa.py_buffer(sent[4:]))
    assert (frame.kind, frame.meta, sorted(frame.parts)) == (2, meta, [1, 7])
    assert frame.batch(1, {1: SCHEMA}) == BATCH
    assert frame.batch(2, {2: SCHEMA}) is None
    assert frame.parts[7].to_pybytes() == b"abc"


def test_the_layout_is_that_of_the_note() -> None:
    sent = as_bytes(3, {"a": 1}, [(100, pa.py_buffer(b"12345"))])
    head = struct.pack(">iiiii", 3, 7, 1, 100, 5)
    assert sent[4:] == head + b'{"a":1}' + b"\0" * 5 + b"12345" + b"\0" * 3


def test_chunks_that_arrive_before_an_answer_are_kept() -> None:
    frames = [
        (ToWorker.ROWS, {"first_slot": 0}),
        (ToWorker.FETCHED, {"request": 3}),
        (ToWorker.FETCHED, {"request": 4}),
    ]
    infile = io.BytesIO(b"".join(as_bytes(kind, dict(meta), []) for kind, meta in frames))
    outfile = io.BytesIO()
    connection = Connection(infile, outfile)
    assert connection.fetch({"request": 4}, []).meta == {"request": 4}
    assert connection.read().kind == ToWorker.ROWS
    assert decode_frame(pa.py_buffer(outfile.getvalue()[4:])) == Frame(ToOperator.FETCH, {"request": 4}, {})
    with pytest.raises(EOFError, match="closed the connection"):
        connection.read()


def test_a_mark_of_spark_ends_the_exchange() -> None:
    with pytest.raises(EOFError, match="mark -4"):
        Connection(io.BytesIO(struct.pack(">i", -4)), io.BytesIO()).read()
