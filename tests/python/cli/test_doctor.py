from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from snapline import __version__, jar
from snapline.cli.checkup import Check, State, run_checks
from snapline.cli.environment import find_java
from snapline.jar import PROVIDER_CLASS

from ..test_jar import make_jar
from .conftest import Run


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A sound machine: a Java, the Spark of pyspark, the jar, no defaults."""
    monkeypatch.setattr(jar, "_FOLDER", tmp_path)
    make_jar(tmp_path)
    java = fake_java(tmp_path, "17.0.15")
    return {"JAVA_HOME": str(java), "SPARK_CONF_DIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable}


def fake_java(folder: Path, version: str) -> Path:
    home = folder / f"java-{version}"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return home


def check(environ: dict[str, str], name: str) -> Check:
    return next(check for check in run_checks(environ, start=False) if check.name == name)


def test_all_is_well(environ: dict[str, str]) -> None:
    checks = run_checks(environ, start=False)
    assert {check.name: check.state for check in checks} == dict.fromkeys(
        ("python", "workers", "java", "pyspark", "spark", "jar", "provider"), State.OK
    )
    assert not any(check.action for check in checks)


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8)])
def test_java_says_its_version(tmp_path: Path, version: str, major: int) -> None:
    java = find_java({"JAVA_HOME": str(fake_java(tmp_path, version))})
    assert java is not None
    assert java.major == major


def test_java_is_missing_or_too_old(environ: dict[str, str], tmp_path: Path) -> None:
    environ["JAVA_HOME"] = str(fake_java(tmp_path, "11.0.2"))
    assert check(environ, "java").state is State.FAIL
    environ["JAVA_HOME"] = "/absent"
    assert "JAVA_HOME=/absent" in check(environ, "java").found
    assert "no java on the path" in check({"PATH": "/absent"}, "java").found


def test_the_python_of_the_workers(environ: dict[str, str], tmp_path: Path) -> None:
    python = tmp_path / "python3"
    for answer, state in (("3.1.0 /usr", State.FAIL), (f"{platform.python_version()} /other", State.WARN)):
        python.write_text(f"#!/bin/sh\necho {answer}\n")
        python.chmod(0o755)
        environ["PYSPARK_PYTHON"] = str(python)
        assert check(environ, "workers").state is state
    environ["PYSPARK_PYTHON"] = "/absent"
    found = check(environ, "workers")
    assert (found.state, found.action) == (State.FAIL, f"export PYSPARK_PYTHON={sys.executable}")


def test_another_spark_is_refused(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-9.8.0.jar").touch()
    environ["SPARK_HOME"] = str(tmp_path)
    found = check(environ, "spark")
    assert (found.state, "Spark 9.8.0" in found.found, "SPARK_HOME" in found.action) == (State.FAIL, True, True)
    environ["SPARK_HOME"] = "/absent"
    assert check(environ, "spark").state is State.FAIL


def test_a_jar_of_another_version_is_refused(environ: dict[str, str], tmp_path: Path) -> None:
    next(tmp_path.glob("*.jar")).unlink()
    make_jar(tmp_path, version="9.9")
    assert "[SNAPLINE-SPARK]" in check(environ, "jar").found


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ("org.example.Theirs", State.WARN),
        (PROVIDER_CLASS, State.WARN),
        (f"{PROVIDER_CLASS}\nspark.jars /x/snapline-spark-4.2_2.13-{__version__}.jar", State.OK),
    ],
)
def test_the_provider_in_force(environ: dict[str, str], tmp_path: Path, settings: str, state: State) -> None:
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text(f"spark.sql.streaming.stateStore.providerClass {settings}\n")
    found = check(environ, "provider")
    assert found.state is state
    assert str(defaults) in found.found


def test_nothing_is_started_where_it_cannot_work(environ: dict[str, str]) -> None:
    environ["JAVA_HOME"] = "/absent"
    last = run_checks(environ, start=True)[-1]
    assert (last.name, last.state, last.found) == ("start", State.FAIL, "not tried")


@pytest.mark.parametrize(
    ("stdout", "state"),
    [
        ('Spark greets\n{"state": "ok", "found": "it loads", "action": ""}\n', State.OK),
        ('{"state": "fail", "found": "no class", "action": "look"}', State.FAIL),
        ("", State.FAIL),
        ("{}", State.FAIL),
    ],
)
def test_the_answer_of_a_session(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, stdout: str, state: State
) -> None:
    real = subprocess.run

    def answer(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        if "snapline.cli.probe" not in command:
            return real(command, **more)  # type: ignore[call-overload, no-any-return]
        return subprocess.CompletedProcess(command, 0, stdout, "last words")

    monkeypatch.setattr(subprocess, "run", answer)
    assert run_checks(environ, start=True)[-1].state is state


def test_exit_code_and_output(run: Run, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    ran = run("doctor")
    assert ran.code == 0
    assert "openjdk version" in ran.out
    monkeypatch.setenv("JAVA_HOME", "/absent")
    ran = run("doctor", "--json")
    assert ran.code == 1
    assert [each["name"] for each in json.loads(ran.out) if each["state"] == "fail"] == ["java"]
