"""Starts a Kafka broker, runs `job.py` on the flights of 2013, kills it twice, and counts what a consumer sees."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "flights")]

from data import load, records  # noqa: E402

from integration.systems.broker import Broker  # noqa: E402
from integration.systems.kafka_jars import kafka_jars  # noqa: E402
from integration.systems.process import Process  # noqa: E402

DAYS = 30
KILLS = 2
PATIENCE_SECONDS = 300.0

Journey = tuple[str, int, int, int, str]


def expected(rows: list[dict[str, Any]]) -> list[Journey]:
    """The same in plain Python."""
    state: dict[str, tuple[int, int, str]] = {}
    found = []
    for row in rows:
        count, delay, at = state.get(row["tailnum"], (0, 0, "NYC"))
        count, delay = count + 1, delay + (row["delay"] or 0)
        state[row["tailnum"]] = count, delay, row["dest"]
        found.append((row["tailnum"], row["number"], count, delay, f"{at}-{row['dest']}"))
    return found


def feed(broker: Broker, rows: list[dict[str, Any]]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=broker.address, acks="all", linger_ms=20)
    for row in rows:
        producer.send("flights", key=row["tailnum"].encode(), value=json.dumps(row).encode())
    producer.flush()
    producer.close()


def journeys(broker: Broker) -> list[Journey]:
    """All that a consumer of committed records sees now."""
    return [tuple(json.loads(value).values()) for value in broker.read("journeys")]  # type: ignore[misc]


def wait_for(broker: Broker, count: int, job: Process) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(journeys(broker)) < count:
        if not job.running or time.monotonic() > deadline:
            raise SystemExit(f"the job did not come so far; the end of {job.log}:\n{job.text[-3000:]}")
        time.sleep(0.2)


def main() -> int:
    out = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="snapline-exactly-once-") as name:
        folder = Path(name)
        broker = Broker(folder)
        broker.start()
        assert broker.process is not None
        try:
            for topic in ("flights", "journeys"):
                broker.make_topic(topic, 3)
            rows = records(load(DAYS).flights)
            feed(broker, rows)
            out.print(f"{len(rows):,} flights of {DAYS} days are in the topic flights")
            command = [sys.executable, str(HERE / "job.py"), broker.address, str(folder), ",".join(kafka_jars())]
            for kill in range(KILLS):
                with Process(command, folder / f"job-{kill}.log") as job:
                    wait_for(broker, len(rows) * (kill + 1) // (KILLS + 1), job)
                    time.sleep(random.uniform(0, 1))
                out.print(f"killed with SIGKILL; a consumer sees {len(journeys(broker)):,} journeys")
            with Process(command, folder / "job-last.log") as job:
                wait_for(broker, len(rows), job)
                time.sleep(2)
            return report(out, rows, journeys(broker))
        finally:
            broker.process.kill()


def report(out: Console, rows: list[dict[str, Any]], found: list[Journey]) -> int:
    """A table of it; 0 if each journey is there once."""
    wanted, seen = Counter(expected(rows)), Counter(found)
    again = sum(times - 1 for times in seen.values())
    missing, foreign = (wanted - seen).total(), (Counter(seen.keys()) - Counter(wanted.keys())).total()
    table = Table("", "journeys", title=f"The topic journeys, after {KILLS} kills")
    for label, count in (("there", len(found)), ("twice", again), ("missing", missing), ("wrong", foreign)):
        table.add_row(label, f"{count:,}")
    out.print(table)
    return 0 if again == missing == foreign == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
