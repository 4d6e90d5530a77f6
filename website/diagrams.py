"""Mermaid sources of the pages as pictures: the site needs no script, and GitHub draws the sources itself."""

import base64
import re

from mermaidx import render

FENCE = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def drawn(markdown: str) -> str:
    """The page with a picture in the place of each source. A picture of its own, so that names within two never meet.

    Raises:
        ValueError: a source is no diagram.
    """
    return FENCE.sub(lambda fence: f'<img class="diagram" alt="{_alt(fence[1])}" src="{_picture(fence[1])}">', markdown)


def _picture(source: str) -> str:
    svg = render(source).svg()
    if not svg.startswith("<svg"):
        raise ValueError(f"no diagram: {source[:80]!r}")
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _alt(source: str) -> str:
    """For a reader who does not see it: the messages of a sequence diagram, in their order."""
    names = dict(re.findall(r"participant (\w+) as (.+)", source))
    told = re.findall(r"^\s*(\w+)-{1,2}>>(\w+): (.+)$", source, re.MULTILINE)
    told = [
        f"{names.get(sender, sender)} to {names.get(receiver, receiver)}: {text}" for sender, receiver, text in told
    ]
    return ("; ".join(told) or "a diagram").replace('"', "'")
