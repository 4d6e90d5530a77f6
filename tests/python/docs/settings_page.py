"""The tables of docs/settings.md, from the table of settings: ``python -m tests.python.docs.settings_page``."""

from __future__ import annotations

from snapline.settings.names import CHECKPOINTING
from snapline.settings.table import Setting, settings

from .pages import TOP

PAGE = "docs/settings.md"
SECTIONS = {"Snapline's own": "", "Checkpoints": CHECKPOINTING}


def page() -> str:
    """The page, with its tables written anew."""
    lines, section, old = [], None, False
    for line in (TOP / PAGE).read_text().splitlines():
        if line.startswith("## "):
            section = line[3:] if line[3:] in SECTIONS else None
        elif section and line.startswith("|"):
            if not old:
                lines += table(section)
            old = True
            continue
        elif old:
            section, old = None, False
        lines.append(line)
    return "\n".join(lines) + "\n"


def table(section: str) -> list[str]:
    """Lines of Markdown."""
    rows = [row(setting, SECTIONS[section]) for setting in settings().values() if setting.section == section]
    return ["| setting | values | default | description |", "|---|---|---|---|", *rows]


def row(setting: Setting, prefix: str) -> str:
    default = "none" if setting.default is None else f"`{setting.default}`"
    return f"| `{setting.name.removeprefix(prefix)}` | {setting.kind.range} | {default} | {setting.text} |"


if __name__ == "__main__":
    (TOP / PAGE).write_text(page())
