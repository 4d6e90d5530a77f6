"""The pages that people read: what is in them that a test can look up."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[3]
GUIDES = ["README.md", *sorted(path.relative_to(TOP).as_posix() for path in (TOP / "docs").glob("*.md"))]
PAGES = [
    *GUIDES,
    *sorted(path.relative_to(TOP).as_posix() for path in (TOP / "docs" / "notes").glob("*.md")),
    *sorted(
        path.relative_to(TOP).as_posix()
        for folder in ("bench", "examples", "integration")
        for path in (TOP / folder).rglob("README.md")
    ),
]
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r'\]\(([^)\s#]*)(?:#([^)\s]*))?(?:\s+"([^"]*)")?\)')


class Link(NamedTuple):
    """`title` names something in the file, a test as a rule; `file` is the page itself for an anchor alone."""

    page: str
    file: Path
    anchor: str | None
    title: str | None


def text(page: str) -> str:
    """A page as it is."""
    return (TOP / page).read_text()


def prose(page: str) -> str:
    """A page without what is set as code."""
    return _FENCED.sub("", text(page))


def code(page: str, language: str) -> list[str]:
    """The blocks of a language, in order."""
    return [found[3] for found in _FENCED.finditer(text(page)) if found[2] == language]


def links(page: str) -> Iterator[Link]:
    """All that lead to a file of the tree."""
    for target, anchor, title in _LINK.findall(prose(page)):
        if ":" not in target:
            file = Path(os.path.normpath((TOP / page).parent / target)) if target else TOP / page
            yield Link(page, file, anchor or None, title or None)


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub and the site make them."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#{1,6} (.+)$", _FENCED.sub("", page.read_text()), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def sections(page: str, level: int) -> dict[str, str]:
    """Text by heading of that level, up to the next of the same or a higher one."""
    parts = re.split(rf"^(#{{1,{level}}}) (.+)\n", prose(page), flags=re.MULTILINE)
    marks, headings, bodies = parts[1::3], parts[2::3], parts[3::3]
    return {heading: body for mark, heading, body in zip(marks, headings, bodies, strict=True) if len(mark) == level}
