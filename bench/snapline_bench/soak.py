"""A query that runs long, with a driver that is killed now and then: does anything grow, and is every row right?"""

from __future__ import annotations

import json
import random
import sqlite3
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from snapline_bench import cpu
from snapline_bench.flat import Point, trend
from snapline_bench.goal import Goal, Part
from snapline_bench.growth import Census, Held, growing
from snapline_bench.job import Job, Result
from snapline_bench.life import Life
from snapline_bench.provider import OURS, Provider
from snapline_bench.sheet import Sheet, number
from snapline_bench.snapline_only import sessions
from snapline_bench.soak_rows import Bursts, differences


@dataclass(frozen=True)
class Sizes:
    """
    `lives`: how many there are about, the last of which is the second half; the moments of the kills are drawn at
    random. `settle_s`: at its beginning nothing counts of what a process holds. `every_s`: between two samples.
    `pace_s`: a batch starts no more often.
    """

    minutes: float = 30.0
    lives: int = 8
    settle_s: float = 180.0
    every_s: float = 5.0
    pace_s: float = 2.0
    interval_s: float = 5.0
    seed: int = 11
    memory: str = "1g"


QUICK = Sizes(minutes=2.5, lives=2, settle_s=30.0)
REPS = 1
NAMES = (OURS,)
MB = 1e6
# No kill after this share of the time, and nothing counts before that one.
KILLS, BEGUN = 1 / 2, 1 / 6


@dataclass(frozen=True)
class Kind:
    """Something that is sampled. `of_process`: it begins anew with a life, and counts in the last one."""

    title: str
    unit: float
    bound: float
    of_process: bool


# Of the classes that gain most, so many are shown.
LISTED = 20
# Of what has more objects with every batch. Spark's own part is in it: README.
MB_A_DAY = 20.0

# Of the sizes, what the driver's process is told.
TOLD = ("memory", "pace_s", "interval_s", "every_s")
KINDS = {
    "jvm_rss": Kind("RSS of the driver's JVM, MB", MB, 0.1, True),
    "python_rss": Kind("RSS of all Pythons, MB", MB, 0.1, True),
    "heap": Kind("heap after GC, less the row table, MB", MB, 0.1, True),
    "rocksdb": Kind("RocksDB memory, MB", MB, 0.1, True),
    "descriptors": Kind("open descriptors", 1, 0.1, True),
    "local_bytes": Kind("local disk, MB", MB, 0.1, True),
    "checkpoint_files": Kind("files of the checkpoint folder", 1, 0.1, False),
    "checkpoint_bytes": Kind("bytes of the checkpoint folder, MB", MB, 0.1, False),
}
FIGURES = {
    "kills": "kills",
    "batches": "batches",
    "windows": "rows of output, all checked",
    "restart_s": "start to first new batch, s",
    **{name: kind.title for name, kind in KINDS.items()},
    **{f"{name}_growth": f"growth of {kind.title.removesuffix(', MB')}" for name, kind in KINDS.items()},
    "objects_mb_a_day": "objects that each batch adds, MB a day at a batch a second",
    "others": "other load, cores",
}
GOALS = [Goal(f"{name}_growth", Part.ABSOLUTE, "", kind.bound) for name, kind in KINDS.items()]
GOALS.append(Goal("objects_mb_a_day", Part.ABSOLUTE, "", MB_A_DAY))


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    if jar is not None or settings:
        raise SystemExit("soak runs the package as it is, without --jar and --conf")
    return sessions(names, {OURS: "Snapline"}, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    chance = random.Random(sizes.seed)
    begun, end = time.monotonic(), sizes.minutes * 60
    readings = [cpu.read()]
    samples: list[dict[str, Any]] = []
    lives: list[Life] = []
    orders = {"bursts": asdict(Bursts()), **{name: getattr(sizes, name) for name in TOLD}}
    while True:
        life = Life(len(lives), orders, job.scratch)
        lives.append(life)
        seconds = end * KILLS / (sizes.lives - 1) * chance.uniform(0.5, 1.5)
        try:
            live(life, begun, seconds, end, sizes.every_s, samples, readings)
        except BaseException:
            # It is of another process group: nobody else would end it.
            life.kill()
            raise
        (job.scratch / "samples.json").write_text(json.dumps(samples))
        if time.monotonic() - begun >= end:
            break
        life.kill()
    life.end()
    windows, batches = check(job.scratch / "output.db")
    figures: dict[str, float] = {
        "kills": len(lives) - 1,
        "batches": batches,
        "windows": windows,
        "restart_s": median(each.went_on - each.started for each in lives if each.went_on is not None),
        "others": cpu.others_of(readings),
    }
    for name, kind in KINDS.items():
        found = trend(points(samples, name, kind, sizes.settle_s, end))
        # What could not be measured meets no goal.
        figures[name] = found.level / kind.unit if found else float("nan")
        figures[f"{name}_growth"] = found.growth if found else float("nan")
    grown = growing(censuses(samples, sizes.settle_s))
    figures["objects_mb_a_day"] = sum(each.mb_a_day for each in grown)
    # Thousands of classes are in each sample; the result has those that tell something.
    for sample in samples:
        sample.pop("classes", None)
    return {"figures": figures, "batches": [], "samples": samples, "grown": [asdict(each) for each in grown]}


def sheets(runs: list[dict[str, Any]]) -> list[Sheet]:
    rows = []
    for run in runs:
        for name, kind in KINDS.items():
            level, growth = run["figures"][name], run["figures"][f"{name}_growth"]
            verdict = "met" if growth <= kind.bound else "MISSED"
            rows.append((kind.title, number(level), f"{growth:+.1%}", f"{kind.bound:.0%}", verdict))
    grown = [
        (each["name"], number(each["objects"]), number(each["bytes"]))
        for run in runs
        for each in run.get("grown", [])[:LISTED]
    ]
    return [
        Sheet("what is held, and whether it grows", ("", "median", "growth", "at most", ""), rows),
        Sheet("classes with more objects after every batch", ("class", "objects a batch", "bytes a batch"), grown),
    ]


def live(
    life: Life,
    begun: float,
    seconds: float,
    end: float,
    every_s: float,
    samples: list[dict[str, Any]],
    readings: list[cpu.Reading],
) -> None:
    """So long after its first new batch, or to the end if that is near; a life without a new batch is no life."""
    due = 0.0
    while life.went_on is None or time.monotonic() < begun + end:
        life.look()
        if life.went_on is not None:
            now = time.monotonic()
            since = now - life.went_on
            if since >= seconds and now - begun < end * KILLS:
                return
            if now >= due:
                due = now + every_s
                readings.append(cpu.read())
                samples.append({"at": now - begun, "life": life.number, "since": since, **life.sample()})
        time.sleep(0.1)


def points(samples: list[dict[str, Any]], name: str, kind: Kind, settle_s: float, end: float) -> list[Point]:
    """Those that count."""
    if kind.of_process:
        last = max((each["life"] for each in samples), default=0)
        counted = [each for each in samples if each["life"] == last and each["since"] >= settle_s]
    else:
        counted = [each for each in samples if each["at"] >= end * BEGUN]
    return [Point(each["at"], each[name]) for each in counted if each[name] is not None]


def censuses(samples: list[dict[str, Any]], settle_s: float) -> list[Census]:
    """Of the last life, once it has settled; one for a batch."""
    last = max((each["life"] for each in samples), default=0)
    found = {}
    for each in samples:
        if each["life"] == last and each["since"] >= settle_s and each.get("classes"):
            classes = {name: Held(*held) for name, held in each["classes"].items()}
            found[each["batch"]] = Census(each["batch"], classes)
    return [found[batch] for batch in sorted(found)]


def check(output: Path) -> tuple[int, int]:
    """Rows of output and batches; all of them are right."""
    with sqlite3.connect(output) as db:
        found = db.execute("select start, bucket, rows, numbers, firsts from windows").fetchall()
        first, last, count = db.execute("select min(id), max(id), count(*) from batches").fetchone()
    assert (first, last) == (0, count - 1), f"{count} batches from {first} to {last}"
    wrong = differences(found, Bursts(), count)
    assert not wrong, f"{len(wrong)} differences: {wrong[:10]}"
    return len(found), count
