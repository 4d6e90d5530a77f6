"""Every error code has its section in docs/operations.md, and every section its code."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import snapline.functions.errors  # noqa: F401, one of them stands apart
from snapline.errors import SnaplineError

from .pages import TOP, sections

PAGE = "docs/operations.md"
PARTS = ["**What it means.**", "**What you see.**", "**What to do.**", "**How to check.**"]
SCALA = TOP / "jvm/core/src/main/scala/io/snapline/error/SnaplineException.scala"


def kinds(of: type[SnaplineError] = SnaplineError) -> Iterator[type[SnaplineError]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


PYTHON_CODES = {kind.code for kind in kinds() if kind.__module__.startswith("snapline.")}
SCALA_CODES = set(re.findall(r'"(SNAPLINE-[A-Z-]+)"', SCALA.read_text()))
SECTIONS = {heading: body for heading, body in sections(PAGE, 2).items() if heading.startswith("SNAPLINE-")}


def test_sections_are_codes_and_codes_have_sections() -> None:
    assert set(SECTIONS) == PYTHON_CODES | SCALA_CODES
    assert len(SCALA_CODES) >= 11


def test_the_jar_has_no_code_that_the_package_lacks() -> None:
    assert SCALA_CODES < PYTHON_CODES


@pytest.mark.parametrize("code", sorted(PYTHON_CODES))
def test_a_section_says_what_it_is_what_to_do_and_how_to_check(code: str) -> None:
    body = SECTIONS[code]
    places = [body.find(part) for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)


def test_the_overview_has_them_all() -> None:
    overview = sections(PAGE, 2)["First look"]
    assert set(re.findall(r"\[`(SNAPLINE-[A-Z-]+)`\]\(#", overview)) == set(SECTIONS)


def test_other_pages_name_no_code_that_there_is_not() -> None:
    for page in [TOP / "README.md", *(TOP / "docs").rglob("*.md")]:
        assert set(re.findall(r"`(SNAPLINE-[A-Z-]+)`", page.read_text())) <= set(SECTIONS), page
