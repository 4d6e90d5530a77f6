"""The driver is killed with SIGKILL at random moments; at the end output and state are those of a life without a kill.

SNAPLINE_KILLS: how many in all modes together (100). SNAPLINE_SEED: of the moments; printed.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .expected import Expected, expect, make_input
from .life import Life, rows_in_files, rows_in_sqlite

KILLS = int(os.environ.get("SNAPLINE_KILLS", "100"))
SEED = int(os.environ.get("SNAPLINE_SEED") or random.randrange(10**6))

INTERVALS = ("0.3", "1", "2", "4")
LONGEST_LIFE = 9.0
"""In seconds, once there is a session."""

EVERY_BATCH: Sequence[str | None] = (None,)
MODES: dict[str, tuple[str, Sequence[str | None]]] = {
    "interval-1": ("1", INTERVALS),
    "interval-2": ("2", INTERVALS),
    "mixed-1": ("1", (None, *INTERVALS)),
    "mixed-2": ("2", (None, *INTERVALS)),
    "every-batch-1": ("1", EVERY_BATCH),
    "every-batch-2": ("2", EVERY_BATCH),
}


def share(mode: str) -> int:
    """Of the kills; a few go to the first modes only, because each mode takes its time to end."""
    modes = list(MODES)[: max(1, min(len(MODES), KILLS // 2))]
    if mode not in modes:
        return 0
    return KILLS // len(modes) + (modes.index(mode) < KILLS % len(modes))


@dataclass
class Round:
    """One folder, from nothing to all of the input taken in."""

    work: Path
    format: str
    intervals: Sequence[str | None]
    expected: Expected
    source: Path
    chance: random.Random
    lives: list[Life] = field(default_factory=list)

    def start(self) -> Life:
        interval = self.chance.choice(self.intervals)
        arguments = [str(self.work), "--input", str(self.source), "--local", str(self.work / "local")]
        arguments += ["--format", self.format, "--retained", str(self.chance.randint(1, 3))]
        if interval is not None:
            arguments += ["--interval", interval]
        self.lives.append(Life(arguments, self.work / f"life-{len(self.lives):03}.log"))
        return self.lives[-1]

    def killed(self) -> bool:
        """One life. False: it came to its end before."""
        life = self.start()
        moment = self.chance.uniform(0, LONGEST_LIFE)
        if life.wait_for("\nsession\n") and life.kill_after(moment):
            return True
        self.check(life)
        return False

    def check(self, life: Life) -> None:
        status = life.end()
        assert status == 0, f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))
        check_output(self.work, self.expected)


def complaints(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [line[:500] for line in lines if "SNAPLINE-" in line or line.startswith("failed")][:20] + lines[-20:]


def check_output(work: Path, expected: Expected) -> None:
    where = f"seed {SEED}, {work}"
    state = json.loads((work / "state.json").read_text())
    tables = {name: work / f"{name}.db" for name in state}
    output = {
        name: rows_in_sqlite(table) if table.exists() else rows_in_files(work / name) for name, table in tables.items()
    }
    for name in state:
        there = output[name] if name != "chains" else sorted(row[:-1] for row in output[name])
        assert there == expected.output[name], f"{where}: output of {name}"
        found = state[name] if name != "chains" else [row[:-1] for row in state[name]]
        assert found == expected.state[name], f"{where}: state of {name}"
    if "chains" in state:
        # The clock of the state is that of the batch whose output the sink has.
        clocks = {(row[0], row[1]): row[-1] for row in output["chains"]}
        for k, n, _, at in state["chains"]:
            assert clocks[k, n] == at, f"{where}: time of chain {k}"


@pytest.mark.parametrize("mode", MODES)
def test_killed_at_random_moments(mode: str, tmp_path: Path) -> None:
    kills = share(mode)
    if not kills:
        pytest.skip("no kill left for this mode: SNAPLINE_KILLS")
    chance = random.Random(f"{SEED} {mode}")
    files = min(30, 6 + 2 * kills)
    batches = make_input(tmp_path / "input", files)
    version, intervals = MODES[mode]
    done, rounds, began = 0, 0, time.monotonic()
    while True:
        this = Round(tmp_path / f"round-{rounds}", version, intervals, expect(batches), tmp_path / "input", chance)
        rounds += 1
        while done < kills and this.killed():
            done += 1
        if done == kills:
            this.check(this.start())
            break
    print(f"{mode}: {done} kills in {rounds} rounds, {time.monotonic() - began:.0f} s, seed {SEED}")
