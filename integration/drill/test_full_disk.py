"""The disk is full for a while: that of the checkpoint folders, or that of the executors' working state.

What runs then fails, with an error that says what is full, and goes on by itself when there is room again; drivers that
die meanwhile, or start, do no harm either. Output and state are those of plain Python.
"""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from .check import check_output
from .disk import mounted
from .expected import expect, make_input
from .feed import Feed
from .life import Life
from .lives import SEED
from .tally import Tally
from .work import Orders, Work

FILES = 18
QUERIES = ("chains", "totals")
MODES = {
    f"{version}-{'every-batch' if interval is None else 'interval'}-{backend}": (version, interval, backend)
    for version, interval, backend in (
        (1, None, "rocksdb"),
        (2, None, "hashmap"),
        (1, 0.5, "hashmap"),
        (2, 0.5, "rocksdb"),
    )
}
TIMES = 2
MEGABYTES = {"checkpoints": 64, "local": 256}


@pytest.mark.parametrize("place", MEGABYTES)
def test_queries_go_on_when_there_is_room_again(place: str, files: str, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}")
    chance = random.Random(f"{SEED} {place}")
    batches = make_input(tmp_path / "files", FILES)
    works = [
        Work(
            folder=str(tmp_path / mode),
            format=version,
            interval=interval,
            backend=backend,
            retained=chance.randint(1, 2),
            restarts=10_000,
            queries=QUERIES,
            tables=("totals",),
        )
        for mode, (version, interval, backend) in MODES.items()
    ]
    tally.modes = len(MODES)
    with mounted(tmp_path / "disk", MEGABYTES[place]) as disk:
        for work in works:
            work.path.mkdir()
            if place == "checkpoints":
                (disk.folder / work.path.name).mkdir()
                (work.path / "checkpoints").symlink_to(disk.folder / work.path.name)
        local = str(disk.folder / "local") if place == "local" else str(tmp_path / "local")
        feed = Feed(tmp_path / "files", works)
        lives: list[Life] = []

        def start(ends: bool) -> Life:
            orders = Orders(works=works, local=local, ends=ends, files=files)
            lives.append(Life(orders, tmp_path / f"life-{len(lives)}.log", feed))
            return lives[-1]

        def reach(life: Life, more: int) -> None:
            wanted = min(feed.taken_in + more, FILES - 1)
            assert life.wait_until(lambda: feed.taken_in >= wanted), life.log

        try:
            life = start(ends=False)
            for time_to_fill in range(TIMES):
                reach(life, chance.randint(2, 4))
                time.sleep(chance.uniform(0, 0.5))
                before = failures(life.log)
                with disk.full():
                    # Each mode has failed more than once before there is room.
                    wanted = before + 2 * len(works)
                    assert life.wait_until(lambda: failures(life.log) >= wanted), life.log  # noqa: B023
                print(f"full {time_to_fill}: {failures(life.log) - before} failures", flush=True)
                reach(life, 2)
            with disk.full():
                time.sleep(chance.uniform(0, 1))
                life.kill()
                tally.kills += 1
                if place == "checkpoints":
                    # A start says what is wrong before a batch is run.
                    refused = start(ends=False)
                    assert refused.end() != 0, refused.log
                    assert "[SNAPLINE-STORAGE]" in refused.log.read_text(errors="replace"), refused.log
            # Killed between the log of the file source and that of the query, it would take two files into one batch.
            again = start(ends=False)
            assert again.wait_until(lambda: feed.dry), again.log
        finally:
            for life in lives:
                life.kill()
        assert "No space left" in lives[0].log.read_text(errors="replace")
        feed.give_all()
        last = start(ends=True)
        assert last.end() == 0, last.log.read_text(errors="replace")[-5000:]
        for work in works:
            check_output(tally, work.path, expect(batches, QUERIES))
            tally.faults += TIMES + 1


def failures(log: Path) -> int:
    return len(re.findall(r"The query failed and starts again", log.read_text(errors="replace")))
