"""Several executors, and some of them killed: state stays exact, whichever executor a partition moves to."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ..drill.tally import Tally

FILES = 16
ROWS = 5_000
KEYS = 1_000


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of (key, amount); the file source takes them in the order of their times."""
    folder = tmp_path_factory.mktemp("numbers")
    random = np.random.default_rng(7)
    for number in range(FILES):
        path = folder / f"{number:03d}.parquet"
        keys = random.integers(0, KEYS, ROWS)
        pq.write_table(pa.table({"key": keys, "amount": random.integers(-9, 10, ROWS)}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def expected(numbers: Path) -> dict[int, tuple[int, int]]:
    """The sums, without Spark."""
    table = pq.read_table(numbers).group_by("key").aggregate([("amount", "sum"), ("amount", "count")])
    columns = [table[name].to_pylist() for name in ("key", "amount_sum", "amount_count")]
    return {key: (total, rows) for key, total, rows in zip(*columns, strict=True)}


def streamed(output: Path, until: int = FILES) -> dict[int, tuple[int, int]]:
    """The last update of every key, in batches up to that one."""
    last: dict[int, tuple[int, int]] = {}
    for folder in sorted(each for each in output.iterdir() if int(each.name) <= until):
        for row in pq.read_table(folder).to_pylist():
            last[row["key"]] = (row["total"], row["rows"])
    return last


def executors(driver: int) -> list[int]:
    """Process ids of the executors that the cluster below this driver started."""
    listing = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [re.match(r"\s*(\d+)\s+(\d+)\s+(.*)", line) for line in listing.splitlines()[1:]]
    parents = {int(row[1]): int(row[2]) for row in rows if row}
    backends = [int(row[1]) for row in rows if row and "CoarseGrainedExecutorBackend" in row[3] and "java" in row[3]]

    def below(process: int) -> bool:
        while process in parents:
            process = parents[process]
            if process == driver:
                return True
        return False

    return [process for process in backends if below(process)]


@dataclass
class Run:
    """A query that took in what there is, or was killed."""

    status: int
    killed: int
    log: str
    batches: int


def run(numbers: Path, work: Path, *more: str, executors_at: tuple[int, ...] = (), driver_at: int = -1) -> Run:
    """Kills an executor, or the driver, when these batches are done."""
    job = [sys.executable, str(Path(__file__).with_name("job.py")), "--master", "local-cluster[2,1,1024]", *more]
    job += ["--input", str(numbers), "--output", str(work / "out"), "--checkpoint", str(work / "checkpoint")]
    with (work / "log").open("w") as log:
        driver = subprocess.Popen(job, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        watchdog = threading.Timer(400, os.killpg, (driver.pid, signal.SIGKILL))
        watchdog.start()
        killed = batches = 0
        assert driver.stdout is not None
        for line in driver.stdout:
            if not line.startswith("batch "):
                continue
            batches += 1
            if int(line.split()[1]) == driver_at:
                os.killpg(driver.pid, signal.SIGKILL)
            if int(line.split()[1]) in executors_at:
                for process in executors(driver.pid)[:1]:
                    os.kill(process, signal.SIGKILL)
                    killed += 1
        status = driver.wait()
        watchdog.cancel()
    return Run(status, killed, (work / "log").read_text(), batches)


def check(work: Path, numbers: Path, done: Run, tally: Tally) -> None:
    tally.kills += done.killed
    tally.compare("sums", streamed(work / "out").items(), expected(numbers).items())
    tally.faults += done.killed


@pytest.mark.parametrize("checkpoint_format", ["1", "2"])
def test_executors_are_killed_and_nothing_is_lost(
    numbers: Path, tmp_path: Path, checkpoint_format: str, tally: Tally
) -> None:
    done = run(numbers, tmp_path, "--format", checkpoint_format, executors_at=(3, 6, 9))
    assert done.status == 0, done.log[-3000:]
    assert done.killed == 3
    check(tmp_path, numbers, done, tally)
    # The columns really are what was summed: the check can fail.
    assert pc.sum(pq.read_table(numbers)["amount"]).as_py() == sum(total for total, _ in expected(numbers).values())


@pytest.mark.parametrize("executors_at", [(), (3, 6, 9)])
def test_state_in_the_drivers_memory_outlives_executors(
    numbers: Path, tmp_path: Path, executors_at: tuple[int, ...], tally: Tally
) -> None:
    done = run(numbers, tmp_path, "--memory", executors_at=executors_at)
    assert done.status == 0, done.log[-3000:]
    assert done.killed == len(executors_at)
    check(tmp_path, numbers, done, tally)
    assert not [*tmp_path.glob("checkpoint/state/**/*.changelog"), *tmp_path.glob("checkpoint/state/**/*.handle")]


def test_state_in_the_drivers_memory_ends_with_it_and_says_so(numbers: Path, tmp_path: Path) -> None:
    assert run(numbers, tmp_path, "--memory", driver_at=4).status == -signal.SIGKILL
    # The batch after it may have been written when the driver died; the next one begins it anew, and so removes it.
    committed = max(int(path.name) for path in (tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    before = streamed(tmp_path / "out", committed)
    assert before
    again = run(numbers, tmp_path, "--memory")
    assert again.status != 0
    assert again.batches == 0
    assert streamed(tmp_path / "out", committed) == before
    assert "[SNAPLINE-NOT-FOUND]" in again.log
    assert "the driver that had it has ended" in again.log
    assert "start the query with a new checkpoint" in again.log
