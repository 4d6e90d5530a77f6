"""The matches are Flink's, and the operator finds those of the matcher."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from snapline.pattern import PatternProcessFunction
from snapline.pattern.compiler import compile_pattern
from snapline.pattern.matcher import Event, Matcher, Partial
from snapline.pattern.operator import PatternFunction
from snapline.state.ddl import parse_schema
from snapline.testing import Bounds, KeyedTestHarness

from .cases import cases, pattern_of

ALL = list(cases())
FOUND = list[list[Any]]


def run(case: dict[str, Any], *, with_pauses: bool = True) -> list[tuple[FOUND, FOUND]]:
    """The steps of a case, as of the file."""
    pattern = pattern_of(case)
    rows: dict[int, Any] = {}
    ids: dict[int, int] = {}
    matcher = Matcher(compile_pattern(pattern), pattern.skip, rows.__getitem__)

    def shown(match: Partial) -> list[Any]:
        return [
            [stage, *(ids[number] for number in numbers)] for stage, numbers in sorted(matcher.numbers(match).items())
        ]

    steps = []
    for kind, value, time, name in case["events"]:
        if kind == "-" and not with_pauses:
            continue
        complete, over = matcher.advance(time)
        found = [shown(each) for each in complete]
        late = [[shown(each.partial), each.time_ms] for each in over]
        if kind != "-":
            number = len(rows) + 1
            rows[number], ids[number] = (kind, value), name
            found += [shown(each) for each in matcher.take(Event(number, time, rows[number]))]
        steps.append((found, late))
    if not with_pauses:
        complete, over = matcher.advance(1 << 40)
        steps.append(([shown(each) for each in complete], [[shown(each.partial), each.time_ms] for each in over]))
    return steps


def test_every_step_finds_what_flink_finds_in_its_order() -> None:
    assert len(ALL) == 400
    for case in ALL:
        for (found, late), (theirs, theirs_late) in zip(run(case), case["steps"], strict=True):
            assert found == theirs, case
            assert sorted(map(repr, late)) == sorted(map(repr, theirs_late)), case


class Shown(PatternProcessFunction):
    """Puts matches out as texts."""

    def process_match(self, match: Any, ctx: Any) -> Any:
        yield "match", repr([[stage, *(row.id for row in match[stage])] for stage in sorted(match)]), None

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        shown = repr([[stage, *(row.id for row in match[stage])] for stage in sorted(match)])
        yield "over", shown, ctx.timestamp()


def at(time: int) -> datetime:
    """The time of an event, so many ms after the first that is not late."""
    return datetime(1970, 1, 1, 0, 0, 1) + timedelta(milliseconds=time)


SCHEMA = "kind string, value double, id int, at timestamp, k string"
OUTPUT = "what string, rows string, time long"


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(chunk_rows=2, max_keys=1, max_prefetch=1)], ids=["", "tiny"])
def test_the_operator_over_restarts_finds_what_the_matcher_finds(bounds: Bounds) -> None:
    """Every event is a micro-batch, or all are one, in which their order by time is another."""
    for case in ALL[::5]:
        steps = run(case, with_pauses=False)
        wanted = sorted(
            [("match", repr(match), None) for found, _ in steps for match in found]
            + [("over", repr(match), time + 1000) for _, late in steps for match, time in late],
            key=repr,
        )
        events = [each for each in case["events"] if each[0] != "-"]
        for in_one in (False, True):
            function = PatternFunction(pattern_of(case), Shown(), parse_schema(SCHEMA, "the rows"), in_event_time=True)
            with KeyedTestHarness(
                function, key="k", schema=SCHEMA, output=OUTPUT, event_time="at", bounds=bounds
            ) as harness:
                rows = [(kind, value, name, at(time), "key") for kind, value, time, name in events]
                if in_one:
                    # The sort is stable: of rows with one time the first stays the first.
                    harness.process_batch(sorted(rows, key=lambda row: -row[3].timestamp()))
                else:
                    for i, row in enumerate(rows):
                        harness.process_batch([row])
                        if i + 1 < len(rows) and rows[i + 1][3] > row[3]:
                            harness.advance_watermark(row[3])
                harness.advance_watermark(1 << 40)
                found = sorted(map(tuple, harness.output()), key=repr)
                assert found == wanted, case
                if pattern_of(case).time_ms is not None:
                    assert {family: harness.num_keys(family) for family in FAMILIES} == dict.fromkeys(FAMILIES, 0)
                assert harness.num_timers() == 0


FAMILIES = ("pattern-matches", "pattern-events", "pattern-waiting", "pattern-arrived")
