"""docs/settings.md has the table of settings, and jar and package read what stands in it, and nothing else."""

from __future__ import annotations

import re

from snapline.settings.table import settings

from .pages import TOP
from .settings_page import PAGE, SECTIONS, page, table

SOURCES = [*(TOP / "jvm").glob("*/src/main/**/*.scala"), *(TOP / "python/src").rglob("*.py")]


def test_the_page_has_the_table_of_settings() -> None:
    assert (TOP / PAGE).read_text() == page()
    rows = [line for section in SECTIONS for line in table(section)[2:]]
    assert len(rows) == len(settings())
    assert all(row in page().splitlines() for row in rows)


def test_every_setting_is_read_by_the_jar_or_the_package() -> None:
    # Names are written as a prefix and the rest of the name.
    texts = {literal for path in SOURCES for literal in re.findall(r'"([\w.-]+)"', path.read_text())}
    for name in settings():
        parts = [".".join(name.split(".")[at:]) for at in range(len(name.split(".")))]
        assert texts.intersection(parts), name


def test_other_pages_name_no_setting_that_there_is_not() -> None:
    for path in [TOP / "README.md", *(TOP / "docs").rglob("*.md")]:
        named = set(re.findall(r"spark\.snapline\.[a-z.-]*[a-z]", path.read_text()))
        assert named - {"spark.snapline.execution.checkpointing"} <= set(settings()), path
