"""What GitHub and the site show alike: tables and lists that are what they look like in the source."""

from __future__ import annotations

import re

import pytest

from .pages import PAGES, prose


@pytest.mark.parametrize("page", PAGES)
def test_rows_of_a_table_have_its_columns(page: str) -> None:
    """A blank line ends a table: what comes after it is no row."""
    columns, before = 0, ""
    for line in prose(page).splitlines():
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", line)) - 1
            columns = cells if not before.startswith("|") else columns
            assert cells == columns, f"{page}: {line}"
        elif before.startswith("|"):
            columns = 0
        before = line
    for block in re.split(r"\n(?!\|)", prose(page)):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert not rows or (len(rows) > 1 and re.fullmatch(r"\|( *:?-+:? *\|)+", rows[1])), f"{page}: {rows[0]}"


@pytest.mark.parametrize("page", PAGES)
def test_lists_stand_apart_from_a_paragraph(page: str) -> None:
    """GitHub takes a list that follows a line of text at once; the site takes it for more text."""
    before = ""
    for line in prose(page).splitlines():
        if re.match(r"(-|\d+\.) ", line):
            assert not before or re.match(r"\s*(-|\d+\.) |#|\s", before), f"{page}: {line}"
        before = line


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_and_begins_with_it(page: str) -> None:
    headings = re.findall(r"^# .*$", prose(page), re.MULTILINE)
    assert len(headings) == 1
    assert prose(page).startswith(headings[0])
