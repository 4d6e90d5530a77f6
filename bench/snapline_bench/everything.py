"""`bench/run all`: every bench after the other, each in a process of its own, and one report of what they found.

A run has a folder below build/bench/all, which holds the result of each bench as soon as there is one. A run that was
stopped, or in which a bench failed, is gone on with by the same command, as long as the tree is the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snapline_bench import cpu, machine, venv
from snapline_bench.bench import BENCHES
from snapline_bench.summary import summary

SAMPLE_S = 10.0


def run(root: Path, only: Sequence[str], quick: bool, minutes: float | None, fresh: bool) -> int:
    """
    Returns:
        the exit status: 0 if every bench has all of its results.
    """
    if unknown := [name for name in only if name not in BENCHES]:
        raise SystemExit(f"no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    kind = {"quick": quick, "minutes": minutes, "only": list(only), "commit": commit(root)}
    base = venv.BUILD / "all"
    folder = None if fresh else pick_up(base, kind)
    if folder is None:
        folder = base / (time.strftime("%Y%m%d-%H%M%S") + ("-quick" if quick else ""))
        folder.mkdir(parents=True)
        write(folder / "run.json", {**kind, "machine": machine.describe(), "started": now()})
        print(f"a new run in {folder.relative_to(root)}", flush=True)
    else:
        print(f"going on in {folder.relative_to(root)}", flush=True)
    try:
        for number, name in enumerate(only, 1):
            if result_of(folder, name).exists():
                print(f"[{number}/{len(only)}] {name}: there already", flush=True)
                continue
            print(f"[{number}/{len(only)}] {name} …", flush=True)
            print(f"    {one(root, folder, name, quick, minutes)}", flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", flush=True)
    whole = all(result_of(folder, name).exists() for name in only)
    if whole:
        told = json.loads((folder / "run.json").read_text())
        write(folder / "run.json", {**told, "ended": now()})
    report = make_report(folder, only)
    print(f"report: {folder.relative_to(root)}/report.html and report.json", flush=True)
    for line in report["failures"]:
        print(f"FAILED: {line}", flush=True)
    return 0 if whole and not report["failures"] else 1


def pick_up(base: Path, kind: dict[str, Any]) -> Path | None:
    """The newest run of the same kind that has not come to its end."""
    for told in sorted(base.glob("*/run.json"), reverse=True):
        found = json.loads(told.read_text())
        if {name: found.get(name) for name in kind} == kind:
            return None if "ended" in found else told.parent
    return None


def arguments(name: str, quick: bool, minutes: float | None) -> list[str]:
    """Of a bench. Its time given, it has its full sizes: half an hour with the quick ones is one kill, not six."""
    if minutes is not None and "minutes" in BENCHES[name].sizes:
        return ["--minutes", str(minutes)]
    # One run of each provider is a look; a figure to quote has as many as the bench says.
    return ["--quick", "--reps", "1"] if quick else []


def one(root: Path, folder: Path, name: str, quick: bool, minutes: float | None) -> str:
    """Runs a bench, and keeps beside its result how long it took and what else the machine did.

    Returns:
        how it ended, to be printed.
    """
    command = [sys.executable, "-m", "snapline_bench", name, "--result", str(folder / f"{name}.part")]
    command += arguments(name, quick, minutes)
    log = folder / f"{name}.log"
    environment = {**os.environ, "PYTHONPATH": str(root / "bench")}
    readings, loads, over = [cpu.read()], [os.getloadavg()[0]], threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_S):
            readings.append(cpu.read())
            loads.append(os.getloadavg()[0])

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with log.open("w") as out:
            ended = subprocess.run(command, stdout=out, stderr=out, cwd=root, env=environment, check=False)
    finally:
        over.set()
        watcher.join()
    readings.append(cpu.read())
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    if ended.returncode < 0:
        said.append(f"ended by signal {-ended.returncode}")
    about = {
        "command": "bench/run " + " ".join([name, *command[5:]]),
        "seconds": round(readings[-1].at - readings[0].at, 1),
        "other_load": round(cpu.others_of(readings), 2),
        "load_average_most": round(max(loads), 2),
        "ended_with": ended.returncode,
        "last_line": said[-1] if said else "",
    }
    write(folder / f"{name}.about.json", about)
    if (folder / f"{name}.part").exists():
        (folder / f"{name}.part").replace(result_of(folder, name))
    how = "done" if ended.returncode == 0 else f"FAILED, see {log.relative_to(root)}: {about['last_line']}"
    return f"{how}; {about['seconds']:.0f} s, beside {about['other_load']:.1f} cores of other work"


def make_report(folder: Path, only: Sequence[str]) -> dict[str, Any]:
    report = summary(folder, [BENCHES[name] for name in only])
    write(folder / "report.json", report)
    try:
        python: str | Path = venv.make("page-venv", venv.BENCH / "requirements.txt")
    except venv.NotInstalled as reason:
        print(f"the page has no plots: {reason}", flush=True)
        python = sys.executable
    command = [str(python), "-m", "snapline_bench.page", str(folder / "report.json"), str(folder / "report.html")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(venv.BENCH)}, check=True)
    return report


def result_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def commit(root: Path) -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=root, capture_output=True, text=True, check=False
    )
    return described.stdout.strip() or "unknown"


def write(path: Path, what: dict[str, Any]) -> None:
    """At once or not at all."""
    half = path.with_name(path.name + ".half")
    half.write_text(json.dumps(what, indent=1))
    half.replace(path)


def now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %z")
