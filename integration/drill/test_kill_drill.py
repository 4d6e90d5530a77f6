"""The driver is killed with SIGKILL at random moments; at the end output and state are those of a life without a kill.

SNAPLINE_KILLS: how many in all modes together (100). SNAPLINE_SEED: of the moments; printed.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .check import check_output
from .expected import Row, expect, make_input
from .life import Life, Plans

KILLS = int(os.environ.get("SNAPLINE_KILLS", "100"))
SEED = int(os.environ.get("SNAPLINE_SEED") or random.randrange(10**6))

INTERVALS = ("0.3", "1", "2", "4")
MOST_EVENTS = 20
"""After which a life is killed: entries that come to the logs of three queries, two for each batch."""

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
    files: list[list[Row]]
    source: Path
    chance: random.Random
    lives: list[Life] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plans = Plans(self.work / "checkpoints")

    def start(self) -> Life:
        interval = self.chance.choice(self.intervals)
        arguments = [str(self.work), "--input", str(self.source), "--local", str(self.work / "local")]
        arguments += ["--format", self.format, "--retained", str(self.chance.randint(1, 3))]
        if interval is not None:
            arguments += ["--interval", interval]
        self.lives.append(Life(arguments, self.work / f"life-{len(self.lives):03}.log", self.plans))
        return self.lives[-1]

    def killed(self) -> bool:
        """One life. False: it came to its end before."""
        life = self.start()
        events, seconds = self.chance.randint(0, MOST_EVENTS), self.chance.uniform(0, 0.5)
        if life.wait_for("\nsession\n") and life.kill_after(events, seconds, self.work / "checkpoints"):
            print(f"  killed after {events} events and {seconds:.2f} s {stage(life.log)}", flush=True)
            return True
        self.check(life)
        return False

    def check(self, life: Life) -> None:
        status = life.end()
        assert status == 0, f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))
        check_output(self.work, expect(self.files, self.plans.whole()))


def stage(log: Path) -> str:
    """How far a life has come."""
    text = log.read_text(errors="replace")
    replays, started = text.count(": Replaying batch"), text.count("\nstarted ")
    return f"{replays} batches replayed, {started} queries started, {text.count('skipped')} batches in SQLite already"


def complaints(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [line[:500] for line in lines if "SNAPLINE-" in line or line.startswith("failed")][:20] + lines[-20:]


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
        this = Round(tmp_path / f"round-{rounds}", version, intervals, batches, tmp_path / "input", chance)
        rounds += 1
        while done < kills and this.killed():
            done += 1
        if done == kills:
            this.check(this.start())
            break
    print(f"{mode}: {done} kills in {rounds} rounds, {time.monotonic() - began:.0f} s, seed {SEED}")
