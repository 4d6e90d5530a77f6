# mypy: disable-error-code="import-not-found"
import subprocess
import sys

import pytest
from snapline_bench import cpu


def test_a_process_that_nobody_waited_for_is_no_other_work() -> None:
    """A JVM keeps 1.5 cores busy for 30 s, and is gone with what it used; half a core is other work."""
    readings = [cpu.Reading(at=10.0 * i, tree=15.0 * i if i < 4 else 0.0, machine=20.0 * i) for i in range(8)]
    assert readings[-1].since(readings[0]).others > 1.9
    assert cpu.others_of(readings[:5]) == pytest.approx(0.5)


def test_other_work_is_seen() -> None:
    readings = [cpu.Reading(at=10.0 * i, tree=5.0 * i, machine=20.0 * i) for i in range(3)]
    assert cpu.others_of(readings) == pytest.approx(1.5)


def test_work_in_the_background_is_waited_for() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert not cpu.settle(most_s=1.0, step_s=0.2)
    finally:
        busy.kill()
        busy.wait()
    assert cpu.settle(most_s=30.0, step_s=0.2)
