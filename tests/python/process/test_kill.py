"""A driver is killed with SIGKILL while a source-like function runs; its sequences go on exactly."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ..cases import cases
from .functions import SPLITS

BATCHES = 12
KILLED_AFTER = cases((2, 6), (4,))
CHILD = Path(__file__).parent / "killed.py"


def committed(folder: Path) -> int:
    """Batches so far; the log does not keep all of them."""
    commits = folder / "checkpoint" / "commits"
    names = [each.name for each in commits.iterdir()] if commits.is_dir() else []
    return max((int(name) + 1 for name in names if name.isdigit()), default=0)


@pytest.mark.whole
@pytest.mark.parametrize("interval", [0, 3], ids=["every batch", "interval"])
def test_nothing_is_lost_and_nothing_comes_twice(
    spark: SparkSession, tmp_path: Path, interval: float, record_property: Callable[[str, object], None]
) -> None:
    ticks = spark.createDataFrame([(v,) for v in range(3 * BATCHES)], "v long")
    ticks.repartitionByRange(3 * BATCHES, "v").write.parquet(str(tmp_path / "ticks"))
    source = random.Random(5)
    log = tmp_path / "log"
    for wanted in (*KILLED_AFTER, None):
        # A group of its own, so that the JVM goes at the same moment.
        command = [sys.executable, str(CHILD), str(tmp_path), str(interval)]
        with log.open("wb") as errors:
            child = subprocess.Popen(command, stderr=errors, start_new_session=True)
        try:
            deadline = time.monotonic() + 240
            while wanted is not None and committed(tmp_path) < wanted and child.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            if wanted is None:
                assert child.wait(timeout=240) == 0, log.read_text()[-3000:]
            else:
                assert child.poll() is None, log.read_text()[-3000:]
                # Anywhere within the micro-batch that follows.
                time.sleep(source.random() * 0.5)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    found = defaultdict(list)
    for row in spark.read.parquet(str(tmp_path / "out")).collect():
        found[row.split].append(row.number)
    assert {split: sorted(each) for split, each in found.items()} == {
        split: list(range(BATCHES)) for split in range(SPLITS)
    }
    # For the table of `integration/run drills`.
    for name, value in {
        "modes": 1,
        "kills": len(KILLED_AFTER),
        "faults": len(KILLED_AFTER),
        "rows": BATCHES * SPLITS,
    }.items():
        record_property(name, value)
