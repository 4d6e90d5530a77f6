"""Starts a Kafka broker and `job.py`, sends flights of 2013 at a steady rate, and shows how long each one takes."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from latencies import Latencies
from rich.console import Console
from rich.live import Live

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "flights")]

from data import load, records  # noqa: E402

from integration.systems.broker import Broker  # noqa: E402
from integration.systems.kafka_jars import kafka_jars  # noqa: E402
from integration.systems.process import Process  # noqa: E402

PATIENCE_SECONDS = 120.0
WARM_UP_ROWS = 500

Delay = tuple[str, int, int, float]


def expected(rows: list[dict[str, Any]]) -> list[Delay]:
    """The job in plain Python, by number of the row."""
    state: dict[str, tuple[int, int]] = {}
    found = []
    for row in rows:
        count, delay = state.get(row["tailnum"], (0, 0))
        count, delay = count + 1, delay + (row["delay"] or 0)
        state[row["tailnum"]] = count, delay
        found.append((row["tailnum"], row["number"], count, delay / count))
    return found


class Ends:
    """Sends the rows, and sees the results, until it is closed."""

    def __init__(self, address: str, rows: list[dict[str, Any]], rate: int) -> None:
        self._address, self._rows, self._rate = address, rows, rate
        self._sent: list[float] = []
        self.results: dict[int, Delay] = {}
        self.latencies = Latencies()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=end, daemon=True) for end in (self._send, self._look)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._address, "linger.ms": 0})
        began = time.monotonic()
        for number, row in enumerate(self._rows):
            # The first ones wait until the job has begun.
            while number >= WARM_UP_ROWS and not self.results and not self._over.wait(0.1):
                began = time.monotonic() - number / self._rate
            if self._over.is_set():
                return
            time.sleep(max(0.0, began + number / self._rate - time.monotonic()))
            self._sent.append(time.time())
            producer.produce("flights", json.dumps(row), row["tailnum"])
            producer.poll(0)
        producer.flush()

    def _look(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self._address, "group.id": "eye", "enable.auto.commit": False})
        consumer.assign([TopicPartition("delays", number, 0) for number in range(2)])
        while not self._over.is_set():
            for message in consumer.consume(1000, 0.01):
                result: Delay = tuple(json.loads(message.value()).values())  # type: ignore[assignment]
                number, now = result[1], time.time()
                self.results[number] = result
                if number >= WARM_UP_ROWS:
                    self.latencies.add((now - self._sent[number]) * 1000, now)
        consumer.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rate", type=int, default=200, help="flights a second (200)")
    options.add_argument("--seconds", type=int, default=60, help="for which they are sent (60)")
    chosen = options.parse_args()
    out = Console(highlight=False)
    rows = records(load().flights, WARM_UP_ROWS + chosen.rate * chosen.seconds)
    with tempfile.TemporaryDirectory(prefix="snapline-real-time-") as name:
        folder = Path(name)
        broker = Broker(folder)
        broker.start()
        assert broker.process is not None
        try:
            for topic in ("flights", "delays"):
                broker.make_topic(topic, 2)
            command = [sys.executable, str(HERE / "job.py"), broker.address, str(folder), ",".join(kafka_jars())]
            out.print("Kafka runs; Spark starts")
            with Process(command, folder / "job.log") as job:
                ends = Ends(broker.address, rows, chosen.rate)
                try:
                    watch(out, job, ends, len(rows))
                finally:
                    ends.close()
        finally:
            broker.process.kill()
    wrong = sum(ends.results.get(wanted[1]) != wanted for wanted in expected(rows))
    out.print(f"{len(ends.results):,} of {len(rows):,} flights came through; {wrong} are missing or wrong")
    return 1 if wrong else 0


def watch(out: Console, job: Process, ends: Ends, count: int) -> None:
    """Until all results were seen."""
    title = "Producer to consumer, through a keyed function in Python"
    seen, moved = 0, time.monotonic()
    with Live(console=out, auto_refresh=False, transient=True) as live:
        while len(ends.results) < count:
            if len(ends.results) > seen:
                seen, moved = len(ends.results), time.monotonic()
            if not job.running or time.monotonic() > moved + PATIENCE_SECONDS:
                raise SystemExit(f"the job has stopped; the end of {job.log}:\n{job.text[-3000:]}")
            if out.is_terminal:
                live.update(ends.latencies.view(title), refresh=True)
            time.sleep(0.5)
    out.print(ends.latencies.view(title))


if __name__ == "__main__":
    sys.exit(main())
