"""Commands on the pages are there, with the options they are given; so are names of the package."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import typer

import snapline
from snapline.cli.main import app

from .pages import PAGES, TOP, text

ROOT = typer.main.get_command(app)
SCRIPT = re.compile(
    r"(?:^|[`\s])(\./(?:demo|test)|scripts/\w+|(?:bench|integration|bench/maps)/run)(?=[`\s,;:])", re.MULTILINE
)
BENCH = re.compile(r"bench/run ([a-z][a-z-]+)")


def commands(page: str) -> Iterator[list[str]]:
    """Words after ``snapline``: on lines of code, and where prose sets a command as code."""
    found = re.findall(
        r"^(?: {4}|\$ |)snapline ((?:checkpoints|savepoint|restore|doctor)\b.*)$", text(page), re.MULTILINE
    )
    found += re.findall(r"`snapline ((?:checkpoints|savepoint|restore|doctor)\b[^`]*)`", text(page))
    for line in found:
        # Usage lines of the generated page, which names every command and option there is.
        if "[OPTIONS]" in line:
            continue
        # Alternatives stand for one of them; figures of speech end a command.
        words = shlex.split(line, comments=True)
        for word in words[1].split("|") if len(words) > 1 and "|" in words[1] else [None]:
            yield [words[0], *([word, *words[2:]] if word else words[1:])]


def check(words: list[str], page: str) -> None:
    command: Any = ROOT
    while words and (within := getattr(command, "commands", None)) is not None:
        name, *words = words
        assert name in within, f"{page}: snapline … {name}"
        command = within[name]
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= options | {"--help"}, f"{page}: {command.name} {words}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_their_options_are_there(page: str) -> None:
    for words in commands(page):
        check(words, page)


def test_there_are_commands() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 30


def test_scripts_and_benches_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOP / "bench"))
    benches = {"all", "page", *import_module("snapline_bench.bench").BENCHES}
    for page in PAGES:
        for script in SCRIPT.findall(text(page)):
            assert (TOP / script).is_file(), f"{page}: {script}"
        assert set(BENCH.findall(text(page))) <= benches, page


@pytest.mark.parametrize("page", PAGES)
def test_names_of_the_package_are_there(page: str) -> None:
    named = set(re.findall(r"(?<![\w./])snapline\.([A-Za-z_]\w*)", text(page)))
    modules = {path.stem for path in (TOP / "python/src/snapline").iterdir()}
    strange = {name for name in named if not hasattr(snapline, name)} - modules
    # Properties of tasks and of logs are no names of Python.
    assert strange <= {"barrier", "checkpoint", "durability", "restore"}, page


@pytest.mark.parametrize("page", PAGES)
def test_jar_and_wheel_are_those_of_today(page: str) -> None:
    version = (TOP / "VERSION").read_text().strip()
    lines = [release.rpartition(".")[0] for release in (TOP / "SPARK_LINES").read_text().split()]
    jars = {f"snapline-spark-{line}_2.13-{version}.jar" for line in lines}
    assert set(re.findall(r"snapline-spark-[\d._]+-[\d.]+\.jar", text(page))) <= jars
    assert set(re.findall(r"snapline-[\d.]+\S*\.whl", text(page))) <= {f"snapline-{version}-py3-none-any.whl"}
    assert set(re.findall(r"snapline==[\w.+*]+", text(page))) <= {f"snapline=={version}"}
