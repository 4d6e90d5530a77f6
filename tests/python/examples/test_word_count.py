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


@pytest.fixture
def port(monkeypatch):
    """One that nobody listens on."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(word_count, "PORT", port)
    return port


def test_nobody_on_the_port_is_one_line_and_no_spark(port, monkeypatch):
    def start():
        raise AssertionError("Spark is started")

    monkeypatch.setattr(word_count, "session", start)
    monkeypatch.setattr("sys.argv", ["word_count.py"])
    with pytest.raises(SystemExit) as ended:
        word_count.main()
    assert str(ended.value.code).startswith(f"Nobody listens on localhost:{port} (")
    assert f"Run `nc -lk {port}`" in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


def connected(port, feeder):
    for _ in range(100):
        try:
            return socket.create_connection(("localhost", port), timeout=10)
        except ConnectionRefusedError:
            feeder.join(0.05)
    return pytest.fail("nobody listens")


def test_who_looks_whether_the_socket_is_open_takes_no_line_away(port, monkeypatch):
    typed, lines = socket.socketpair()
    with typed, lines, lines.makefile() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        feeder = threading.Thread(target=word_count.feed, daemon=True)
        feeder.start()
        connected(port, feeder).close()
        word_count.check_socket()
        with connected(port, feeder) as reader, reader.makefile() as seen:
            typed.sendall(b"to be\n")
            assert seen.readline() == "to be\n"
            typed.sendall(b"or not\n")
            assert seen.readline() == "or not\n"
        # That one has gone: the next one is sent what comes then.
        with connected(port, feeder) as reader, reader.makefile() as seen:
            typed.sendall(b"to be\n")
            assert seen.readline() == "to be\n"
            typed.shutdown(socket.SHUT_WR)
            assert seen.readline() == ""
        feeder.join(10)
        assert not feeder.is_alive()


def test_what_is_typed_is_sent_line_by_line(port, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("to be\nor not\n"))
    feeder = threading.Thread(target=word_count.feed, daemon=True)
    feeder.start()
    with connected(port, feeder) as reader, reader.makefile() as lines:
        assert list(lines) == ["to be\n", "or not\n"]
    feeder.join(10)
    assert not feeder.is_alive()


class Query:
    """A query in a micro-batch that is done after so many looks; who has no patience presses Ctrl-C then."""

    isActive = True

    def __init__(self, looks, *, patient=True):
        self.looks, self.patient, self.stopped_at = looks, patient, None

    @property
    def status(self):
        if not self.looks and not self.patient:
            raise KeyboardInterrupt
        self.looks -= 1
        return {"isTriggerActive": self.looks >= 0}

    def stop(self):
        self.stopped_at = self.looks


def test_ctrl_c_waits_for_the_micro_batch(capsys):
    query = Query(3)
    word_count.stop_between_batches(query)
    assert query.stopped_at == -1
    assert "ending after this micro-batch" in capsys.readouterr().out


def test_ctrl_c_again_does_not():
    query = Query(3, patient=False)
    word_count.stop_between_batches(query)
    assert query.stopped_at == 0
