"""Rows sent to one topic of Kafka at a steady rate and looked for in another, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from snapline_bench import venv

# The ends of a query's output that belong to no row of the measured time.
PATIENCE_S = 180.0


@dataclass(frozen=True)
class Feed:
    """
    Attributes:
        keys: row n has key n % keys.
        counts: whether a row comes out with the number of rows that its key has had, which is checked.
        committed: whether only rows of transactions that are complete are seen.
    """

    address: str
    keys: int = 100
    counts: bool = False
    committed: bool = False
    source: str = "in"
    target: str = "out"


@dataclass(frozen=True)
class Times:
    """Milliseconds from before a row was sent until after it was seen: percentiles over all rows.

    Attributes:
        again: how many rows were seen more than once so far.
        cpu_s: CPU time of senders and lookers meanwhile.
    """

    rows: int
    p50: float
    p99: float
    max: float
    again: int
    cpu_s: float


class Traffic:
    """The other process, from ours. Rows are sent from the first `at` on."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def at(self, rate: int, seconds: float) -> Times:
        """Times of the rows of the next so many seconds, when all of them were seen. Rows go on at this rate.

        Args:
            rate: rows a second.

        Raises:
            SystemExit: one was not seen, or came with a wrong count.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"rate": rate, "seconds": seconds}), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("rows were lost, or wrong: see above")
        return Times(**json.loads(answer))


@contextmanager
def traffic(feed: Feed) -> Iterator[Traffic]:
    command = [sys.executable, "-m", "snapline_bench.traffic", json.dumps(asdict(feed))]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(venv.BENCH)}
    )
    try:
        yield Traffic(process)
    finally:
        process.terminate()
        process.wait()


class Ends:
    """Sends rows `key,number`, and sees rows `key,number` or `key,number,count`."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.rate = 0
        self.sent: list[float] = []
        self.seen: dict[int, float] = {}
        self.again = 0
        self.wrong = ""

    def send(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._feed.address, "linger.ms": 0, "acks": 1})
        rate, began, first = 0, 0.0, 0
        while True:
            if rate != self.rate:
                rate, began, first = self.rate, time.monotonic(), len(self.sent)
            due = first + int((time.monotonic() - began) * rate)
            for number in range(len(self.sent), due):
                key = str(number % self._feed.keys)
                self.sent.append(time.time())
                producer.produce(self._feed.source, f"{key},{number}", key)
            producer.poll(0)
            until = began + (len(self.sent) - first + 1) / rate if rate else time.monotonic() + 0.01
            time.sleep(min(0.01, max(0.0005, until - time.monotonic())))

    def look(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self._feed.address,
                "group.id": "bench",
                "enable.auto.commit": False,
                "isolation.level": "read_committed" if self._feed.committed else "read_uncommitted",
            }
        )
        partitions = consumer.list_topics(self._feed.target).topics[self._feed.target].partitions
        consumer.assign([TopicPartition(self._feed.target, number, 0) for number in partitions])
        while not self.wrong:
            messages = consumer.consume(1000, 0.005)
            now = time.time()
            for message in messages:
                if message.error() is not None:
                    self.wrong = str(message.error())
                else:
                    self._see(message.value().decode(), now)

    def _see(self, row: str, now: float) -> None:
        _, number, *count = row.split(",")
        n = int(number)
        if self._feed.counts and int(count[0]) != n // self._feed.keys + 1:
            self.wrong = f"row {row}: the key had {n // self._feed.keys + 1} rows"
        self.again += n in self.seen
        self.seen.setdefault(n, now)

    def measure(self, rate: int, seconds: float) -> Times:
        cpu_before = time.process_time()
        self.rate = rate
        first = len(self.sent)
        time.sleep(seconds)
        rows = range(first, len(self.sent))
        deadline = time.monotonic() + PATIENCE_S
        while missing := sum(n not in self.seen for n in rows):
            if self.wrong or time.monotonic() > deadline:
                raise SystemExit(self.wrong or f"{missing} of {len(rows)} rows are not seen in {PATIENCE_S} s")
            time.sleep(0.1)
        times = np.array([self.seen[n] - self.sent[n] for n in rows]) * 1000
        p50, p99 = np.percentile(times, [50, 99])
        took = time.process_time() - cpu_before
        return Times(len(rows), float(p50), float(p99), float(times.max()), self.again, took)


def main(feed: Feed) -> None:
    # Else the sender waits 5 ms for the looker.
    sys.setswitchinterval(0.0005)
    ends = Ends(feed)
    for each in (ends.send, ends.look):
        threading.Thread(target=each, daemon=True).start()
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        print(json.dumps(asdict(ends.measure(**order))), flush=True)


if __name__ == "__main__":
    main(Feed(**json.loads(sys.argv[1])))
