"""Runs every drill of the project, again and again for a given time or number of kills: `integration/run drills`.

Each drill is run once, in their order; then the one that has had the least time so far, as long as there is time for
it, or, for a number of kills, until so many processes were killed. Ctrl-C ends it with the table of what is done. The
status is 1 if a row was wrong or a drill failed. Logs and pytest's reports are in build/drills, and what a run that
failed has left there too.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from .drills import DRILLS, Drill
from .lives import ROOT
from .report import Run, read_run, table

BUILD = ROOT / "build" / "drills"


def options(arguments: Sequence[str]) -> argparse.Namespace:
    names = ", ".join(drill.name for drill in DRILLS)
    parser = argparse.ArgumentParser(prog="integration/run drills", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, help="no run is begun after so many; without it: each drill once")
    parser.add_argument("--kills", type=int, help="go on until so many processes were killed, or the minutes are over")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the first run of each drill")
    parser.add_argument("--only", metavar="NAME,…", help=names)
    parser.add_argument("--without", metavar="NAME,…", default="")
    found = parser.parse_args(arguments)
    known = {drill.name for drill in DRILLS}
    wanted = known if found.only is None else set(found.only.split(","))
    without = set(filter(None, found.without.split(",")))
    if (wanted | without) - known:
        parser.error(f"no such drill: {', '.join(sorted((wanted | without) - known))}. There are {names}")
    found.drills = [drill for drill in DRILLS if drill.name in wanted - without]
    return found


def run(drill: Drill, number: int, seed: int) -> Run:
    base = BUILD / f"{drill.name}-{number}"
    log, report, folder = base.with_suffix(".log"), base.with_suffix(".xml"), base.with_suffix(".files")
    command = [sys.executable, "-m", "pytest", "-c", "python/pyproject.toml", "--rootdir", ".", "-s", *drill.tests]
    command += ["-o", "junit_family=xunit1", f"--junitxml={report}", f"--basetemp={folder}"]
    environment = {
        **({} if drill.kills is None else {"SNAPLINE_KILLS": str(drill.kills)}),
        "SNAPLINE_ALL_CASES": "1",
        **os.environ,
        "SNAPLINE_SEED": str(seed),
    }
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [".", os.environ.get("PYTHONPATH")]))
    began = time.monotonic()
    with log.open("wb") as out:
        status = subprocess.run(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT).returncode
    done = read_run(drill.name, seed, time.monotonic() - began, report, status)
    if not done.failures:
        shutil.rmtree(folder, ignore_errors=True)
    return done


def tell(done: Run, number: int) -> None:
    counts = done.tally
    print(
        f"{time.strftime('%H:%M:%S')}  {done.drill} {number}, seed {done.seed}: {counts.kills} kills, {counts.faults} "
        f"faults survived, {counts.rows} rows compared, {counts.wrong} wrong; {done.seconds:.0f} s",
        flush=True,
    )
    for skipped in done.skipped:
        print(f"    SKIPPED {skipped}", flush=True)
    for failure in done.failures:
        print(f"    FAILED {failure}", flush=True)
    if done.failures:
        print(f"    {BUILD / f'{done.drill}-{number}'}.log; again, alone: ", end="")
        print(f"integration/run drills --seed {done.seed} --only {done.drill}", flush=True)


def main() -> int:
    wanted = options(sys.argv[1:])
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    print(f"seed {wanted.seed}: {' '.join(drill.name for drill in wanted.drills)}", flush=True)
    minutes = wanted.minutes if wanted.minutes is not None else math.inf if wanted.kills else 0
    deadline = time.monotonic() + 60 * minutes
    runs: dict[str, list[Run]] = {}

    def run_next(drill: Drill) -> None:
        there = runs.setdefault(drill.name, [])
        there.append(run(drill, len(there), wanted.seed + len(there)))
        tell(there[-1], len(there) - 1)

    def fits(drill: Drill) -> bool:
        last = runs[drill.name][-1]
        if wanted.kills and (drill.kills is None or kills(runs) >= wanted.kills):
            return False
        return last.tally.rows > 0 and time.monotonic() + last.seconds < deadline

    try:
        for drill in wanted.drills:
            if wanted.minutes is None or time.monotonic() < deadline:
                run_next(drill)
        begun = [drill for drill in wanted.drills if drill.name in runs]
        while shortest := min(filter(fits, begun), key=lambda drill: seconds(runs[drill.name]), default=None):
            run_next(shortest)
    except KeyboardInterrupt:
        print("ended by hand", flush=True)
    every = [each for there in runs.values() for each in there]
    if every:
        print(f"\n{table(every)}")
    not_begun = [drill.name for drill in wanted.drills if not runs.get(drill.name)]
    if not_begun:
        print(f"not run: {', '.join(not_begun)}")
    return int(not every or any(each.failures or each.tally.wrong for each in every))


def kills(runs: Mapping[str, Sequence[Run]]) -> int:
    return sum(run.tally.kills for each in runs.values() for run in each)


def seconds(runs: Sequence[Run]) -> float:
    return sum(run.seconds for run in runs)


if __name__ == "__main__":
    sys.exit(main())
