"""Runs a bench on every provider in turn (A B C, A B C, ...), each time in a process of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snapline_bench.bench import INCREMENTAL, RESTART, Bench
from snapline_bench.job import Job
from snapline_bench.nulljar import null_provider_jar
from snapline_bench.provider import Provider
from snapline_bench.report import Run


class RunFailed(Exception):
    """One run ended badly; the other providers go on."""


class Rounds:
    """Owns the build folder of the benches: input, checkpoints, logs, and the scratch folder of the run at hand."""

    def __init__(self, build: Path, quick: bool, say: Callable[[str], None]) -> None:
        self._build = build
        self._quick = quick
        self._say = say
        self._null_jar = null_provider_jar(build)
        self.failed: set[str] = set()

    def run(self, bench: Bench, providers: list[Provider], reps: int, overrides: dict[str, Any]) -> list[Run]:
        if bench is RESTART:
            self._make_checkpoints(providers)
        runs = []
        for rep in range(reps):
            for provider in providers:
                if provider.name in self.failed:
                    continue
                try:
                    result = self._one(bench, provider, rep, overrides)
                except RunFailed as failure:
                    self.failed.add(provider.name)
                    self._say(str(failure))
                    continue
                runs.append({"provider": provider.name, "rep": rep, **result})
                self._say(f"{bench.name} {rep + 1}/{reps} {provider.name}: {brief(result['figures'])}")
        return runs

    def sizes(self, bench: Bench, overrides: dict[str, Any]) -> dict[str, Any]:
        return {**(bench.quick if self._quick else bench.sizes), **overrides}

    def _make_checkpoints(self, providers: list[Provider]) -> None:
        missing = [p for p in providers if not self._kept(p).exists()]
        if missing:
            self._say(f"no checkpoint of {', '.join(p.name for p in missing)} yet: running incremental first")
            self.run(INCREMENTAL, missing, 1, {})

    def _kept(self, provider: Provider) -> Path:
        return self._build / ("checkpoints-quick" if self._quick else "checkpoints") / provider.name

    def _one(self, bench: Bench, provider: Provider, rep: int, overrides: dict[str, Any]) -> dict[str, Any]:
        scratch = self._build / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        logs = self._build / "logs"
        logs.mkdir(exist_ok=True)
        job = Job(
            bench.name,
            provider,
            self.sizes(bench, overrides),
            self._null_jar,
            self._build / "data",
            scratch,
            self._kept(provider).parent,
        )
        job.save(scratch / "job.json")
        result = scratch / "result.json"
        log = logs / f"{bench.name}-{provider.name}-{rep}.log"
        command = [sys.executable, "-m", "snapline_bench.child", str(scratch / "job.json"), str(result)]
        with log.open("w") as out:
            # Spark leaves folders where it is started; the scratch folder is thrown away.
            ended = subprocess.run(command, stdout=out, stderr=out, cwd=scratch, check=False)
        if ended.returncode != 0:
            raise RunFailed(f"{bench.name} on {provider.name} FAILED, see {log}\n{causes(log)}")
        read: dict[str, Any] = json.loads(result.read_text())
        shutil.rmtree(scratch, ignore_errors=True)
        return read


def brief(figures: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in figures.items())


def causes(log: Path) -> str:
    """What a log says went wrong, without the stack traces."""
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if re.match(r"(Caused by: )?[\w.$]+(Error|Exception)\b", line)]
    return "\n".join(f"  {line}" for line in dict.fromkeys(telling or lines[-15:]))
