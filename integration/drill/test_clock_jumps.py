"""The clock goes back an hour and forward an hour, while queries run and between two lives.

Checkpoints go on to be taken at their interval. State that lives by the clock goes by the recorded times of batches, so
that it too is what plain Python makes of them.
"""

from __future__ import annotations

import random
from pathlib import Path

from .check import check_output, rows_in_sqlite
from .clock import Clock
from .damage import Checkpoints
from .expected import Row, expect, make_input
from .feed import Feed
from .job import VISIT
from .life import Life
from .lives import SEED
from .tally import Tally
from .work import Orders, Work

FILES = 26
QUERIES = ("chains", "totals", "visits")
HOUR = 3600
MODES = {
    f"{version}-{'every-batch' if interval is None else 'interval'}-{backend}": (version, interval, backend)
    for version, interval, backend in (
        (1, None, "rocksdb"),
        (2, None, "hashmap"),
        (1, 0.5, "hashmap"),
        (2, 0.5, "rocksdb"),
    )
}


def test_checkpoints_and_state_when_the_clock_is_set(files: str, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    batches = make_input(tmp_path / "files", FILES)
    works = [
        Work(
            folder=str(tmp_path / mode),
            format=version,
            interval=interval,
            pause=0 if interval is None else 0.1,
            backend=backend,
            queries=QUERIES,
            tables=("totals", "visits"),
        )
        for mode, (version, interval, backend) in MODES.items()
    ]
    tally.modes = len(MODES)
    clock = Clock(tmp_path / "clock")
    feed = Feed(tmp_path / "files", works)
    at_interval = [
        Checkpoints(work.checkpoint(query)) for work in works if work.interval is not None for query in QUERIES
    ]
    # Hours from the machine's clock, life by life: jumps in both directions, within lives and between them.
    side = chance.choice((-1, 1))
    lives = [[0, side, -side], [side, 0, -side], [-side, side]]

    def start(name: str, ends: bool = False) -> Life:
        orders = Orders(works=works, local=str(tmp_path / "local"), ends=ends, files=files)
        return Life(orders, tmp_path / f"{name}.log", feed, clock.environment)

    def go_on(life: Life) -> None:
        """Some batches more, and a checkpoint of each query that takes any."""
        wanted = min(feed.taken_in + chance.randint(2, 3), FILES - 1)
        numbers = [newest(each) for each in at_interval]
        assert life.wait_until(lambda: feed.taken_in >= wanted), life.log
        taken = life.wait_until(lambda: all(newest(each) > n for each, n in zip(at_interval, numbers, strict=True)))
        assert taken, life.log

    for number, hours in enumerate(lives):
        clock.set(hours[0] * HOUR)
        life = start(f"life-{number}")
        try:
            go_on(life)
            for hour in hours[1:]:
                clock.set(hour * HOUR)
                go_on(life)
            if number == len(lives) - 1:
                # Killed between the log of the file source and that of the query, it takes two files into one batch.
                assert life.wait_until(lambda: feed.dry), life.log
        finally:
            life.kill()
        tally.kills += 1
        print(f"life {number}, {hours}: {feed.taken_in} files", flush=True)
    feed.give_all()
    clock.set(0)
    last = start("last", ends=True)
    assert last.end() == 0, last.log.read_text(errors="replace")[-5000:]
    expected = expect(batches, ("chains", "totals"))
    for work in works:
        times = {int(str(row[0])): int(str(row[-1])) for row in rows_in_sqlite(work.path / "visits.db")}
        steps = [times[batch + 1] - times[batch] for batch in range(FILES - 1)]
        assert min(steps) < -HOUR * 900, "the clock was to go back"
        assert max(steps) > HOUR * 900, "and forward"
        expected.output["visits"], expected.state["visits"] = visits(batches, times), []
        check_output(tally, work.path, expected)
        tally.faults += sum(map(len, lives))


def newest(there: Checkpoints) -> int:
    """Number of the newest checkpoint; 0 if there is none."""
    found = there.metadata_files()
    return int(found[0].parent.name.partition("-")[2]) if found else 0


def visits(batches: list[list[Row]], times: dict[int, int]) -> list[list[object]]:
    """With the times that the batches had."""
    rows: list[list[object]] = []
    n, ends = 0, 0
    for number, batch in enumerate(batches):
        at = times[number]
        n = 0 if ends <= at else n
        for _ in batch:
            n += 1
            rows.append([number, 0, n, at])
        ends = at + int(VISIT.total_seconds() * 1000)
    return sorted(rows, key=repr)
