# mypy: disable-error-code="import-not-found"
import io
import socket
import threading

import pytest
import word_count

from snapline.testing import KeyedTestHarness


def test_a_word_is_counted_over_micro_batches():
    with KeyedTestHarness(
        word_count.Count(), key="word", schema="word string", output="word string, count long"
    ) as harness:
        assert harness.process_batch([("to",), ("be",), ("to",)]) == [("to", 1), ("be", 1), ("to", 2)]
        assert harness.process_batch([("be",)]) == [("be", 2)]


def test_what_is_typed_is_sent_line_by_line(monkeypatch):
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(word_count, "PORT", port)
    monkeypatch.setattr("sys.stdin", io.StringIO("to be\nor not\n"))
    feeder = threading.Thread(target=word_count.feed, daemon=True)
    feeder.start()
    for _ in range(100):
        try:
            reader = socket.create_connection(("localhost", port), timeout=10)
            break
        except ConnectionRefusedError:
            feeder.join(0.05)
    else:
        pytest.fail("nobody listens")
    with reader, reader.makefile() as lines:
        assert list(lines) == ["to be\n", "or not\n"]
    feeder.join(10)
    assert not feeder.is_alive()
