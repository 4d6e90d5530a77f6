"""The one table of Snapline's settings: `table.json`, which the jar holds too."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from snapline.settings.duration import parse_duration
from snapline.settings.kinds import (
    ChoiceKind,
    DurationKind,
    FlagKind,
    FractionKind,
    Kind,
    NumberKind,
    PathKind,
    SizeKind,
)
from snapline.settings.sizes import parse_size


class Setting(NamedTuple):
    """A row of the table.

    Attributes:
        name: as Spark's configuration has it.
        kind: the values it takes.
        default: as a text; None: it is not set.
        text: its description, in Markdown.
        section: the part of docs/settings.md that has it.
    """

    name: str
    kind: Kind
    default: str | None
    text: str
    section: str


@cache
def settings() -> dict[str, Setting]:
    """All settings by name, in the order of the page."""
    rows = json.loads(files("snapline.settings").joinpath("table.json").read_text())
    return {row["name"]: Setting(row["name"], _kind(row), row["default"], row["text"], row["section"]) for row in rows}


def kind(name: str) -> Kind:
    """The values of a setting."""
    return settings()[name].kind


def _kind(row: dict[str, object]) -> Kind:
    name, least, most = str(row["name"]), str(row.get("least")), str(row.get("most"))
    match row["kind"]:
        case "flag":
            return FlagKind()
        case "path":
            return PathKind()
        case "choice":
            return ChoiceKind(tuple(row["values"]))  # type: ignore[arg-type]
        case "number":
            return NumberKind(int(least), int(most))
        case "fraction":
            return FractionKind(float(least), float(most))
        case "size":
            return SizeKind(_bytes(least), _bytes(most))
        case "duration":
            return DurationKind(parse_duration(name, least), parse_duration(name, most))
        case other:
            raise AssertionError(f"{name} is of kind {other}")


def _bytes(text: str) -> int:
    size = parse_size(text)
    assert size is not None
    return size
