"""Random patterns and events, and the matches that Flink 2.2 found: a line of JSON each.

An event has a type, a number, a time in ms and an id. One of type ``-`` moves the time on, and is none. A step has the
matches that an event made complete, in order, and those whose time was over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snapline.pattern import AfterMatchSkipStrategy, Pattern, WithinType

FILE = Path(__file__).with_name("flink_matches.jsonl")


def cases() -> Iterator[dict[str, Any]]:
    with FILE.open() as file:
        yield from map(json.loads, file)


def pattern_of(case: dict[str, Any]) -> Pattern:
    """Of rows that begin with type and number."""
    pattern: Pattern | None = None
    for stage in case["stages"]:
        if pattern is None:
            pattern = Pattern.begin(stage["name"], _skip(case["skip"]))
        else:
            pattern = getattr(pattern, stage["how"])(stage["name"])
        _describe(pattern, stage)
    assert pattern is not None
    return pattern


def _describe(pattern: Pattern, stage: dict[str, Any]) -> None:
    pattern.where(_condition(stage["cond"]))
    if "or" in stage:
        pattern.or_where(_condition(stage["or"]))
    if "count" in stage:
        least, most = stage["count"]
        between = stage.get("times_within")
        if most is None:
            pattern.times_or_more(least, between)
        else:
            pattern.times(least, most, between)
    if stage.get("inner") == "strict":
        pattern.consecutive()
    if stage.get("inner") == "any":
        pattern.allow_combinations()
    if stage.get("greedy"):
        pattern.greedy()
    if stage.get("optional"):
        pattern.optional()
    if "until" in stage:
        pattern.until(_condition(stage["until"]))
    if "within" in stage:
        pattern.within(stage["within"])
    if "within_prev" in stage:
        pattern.within(stage["within_prev"], WithinType.PREVIOUS_AND_CURRENT)


def _condition(said: dict[str, Any]) -> Any:
    types, above = said["types"], said.get("above")
    if above is None:
        return lambda row: row[0] in types
    return lambda row, ctx: row[0] in types and all(each[1] < row[1] for each in ctx.get_events_for_pattern(above))


def _skip(said: dict[str, Any]) -> AfterMatchSkipStrategy:
    kind = said["kind"]
    if kind == "to_next":
        return AfterMatchSkipStrategy.skip_to_next()
    if kind == "past_last":
        return AfterMatchSkipStrategy.skip_past_last_event()
    if kind == "to_first":
        return AfterMatchSkipStrategy.skip_to_first(said["name"])
    if kind == "to_last":
        return AfterMatchSkipStrategy.skip_to_last(said["name"])
    return AfterMatchSkipStrategy.no_skip()
