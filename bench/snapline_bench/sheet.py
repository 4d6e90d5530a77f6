"""A table of a bench beside its figures: to be printed, and to be put on the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sheet:
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def number(value: float) -> str:
    """Three digits or so, and thousands told apart."""
    if value != value:
        return "not measured"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"


def spread(middle: float, least: float, most: float) -> str:
    return number(middle) if least == most else f"{number(middle)} ({number(least)} - {number(most)})"
