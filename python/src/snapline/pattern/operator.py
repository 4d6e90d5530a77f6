"""The keyed function that looks for a pattern. Order: docs/notes/019-patterns.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from snapline.errors import IncompatibleState
from snapline.functions.context import Context, RuntimeContext
from snapline.functions.process import KeyedProcessFunction
from snapline.functions.time import no_time
from snapline.pattern.compiler import compile_pattern
from snapline.pattern.functions import MatchContext, PatternProcessFunction
from snapline.pattern.graph import Graph
from snapline.pattern.matcher import Event, Matcher, Partial, Step, TimedOut
from snapline.pattern.pattern import Pattern
from snapline.state.descriptors import MapStateDescriptor, ValueStateDescriptor


def _struct(**fields: Any) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


_PATH = ArrayType(_struct(stage=StringType(), number=LongType()))
_PARTIAL = _struct(node=StringType(), first_ms=LongType(), last_ms=LongType(), path=_PATH)
_MATCHES = _struct(number=LongType(), partial=ArrayType(_PARTIAL), complete=ArrayType(_PARTIAL))


class PatternFunction(KeyedProcessFunction):
    """Feeds the rows of a key to a matcher, in the order of their time.

    In event time a row waits until the watermark has passed it. In processing time it is taken when it comes.
    """

    _ends_its_timers = True

    def __init__(
        self, pattern: Pattern, function: PatternProcessFunction, rows: StructType, *, in_event_time: bool
    ) -> None:
        self._pattern = pattern
        self._function = function
        self._rows = rows
        self._in_event_time = in_event_time
        self._shown_as = getattr(function, "_shown_as", None) or type(function).__name__
        self._handles_timeouts = (
            type(function).process_timed_out_match is not PatternProcessFunction.process_timed_out_match
        )

    def open(self, ctx: RuntimeContext) -> None:
        self._graph: Graph = compile_pattern(self._pattern)
        self._matches = ctx.get_state(ValueStateDescriptor[Any]("pattern-matches", _MATCHES))
        self._events = ctx.get_map_state(MapStateDescriptor[int, Any]("pattern-events", "long", self._rows))
        if self._in_event_time:
            self._arrived = ctx.get_state(ValueStateDescriptor("pattern-arrived", "long"))
            place = "struct<time: long, number: long>"
            self._waiting = ctx.get_map_state(MapStateDescriptor[Any, Any]("pattern-waiting", place, self._rows))
        self._function.open(ctx)

    def close(self) -> None:
        self._function.close()

    def process_element(self, row: Any, ctx: Context) -> Iterable[Any] | None:
        timers = ctx.timer_service()
        if not self._in_event_time:
            now = timers.current_processing_time()
            return self._run([(now, row)], now, ctx)
        time = ctx.timestamp()
        if time is None:
            raise no_time("the pattern")
        number = (self._arrived.value() or 0) + 1
        self._arrived.update(number)
        self._waiting.put((time, number), row)
        timers.register_event_time_timer(time)
        return None

    def on_timer(self, timestamp: int, ctx: Context) -> Iterable[Any] | None:
        if not self._in_event_time:
            return self._run([], timestamp, ctx)
        until = ctx.current_watermark()
        due = sorted(place for place in self._waiting.keys() if place[0] <= until)  # noqa: SIM118 (no dict)
        rows = [(place[0], self._waiting.get(place)) for place in due]
        for place in due:
            self._waiting.remove(place)
        if self._waiting.is_empty():
            self._arrived.clear()
        return self._run(rows, until, ctx)

    def _run(self, rows: list[tuple[int, Any]], until: int, ctx: Context) -> Iterator[Any]:
        """Takes the rows, and then moves the time on."""
        stored = self._matches.value()
        fresh: dict[int, Any] = {}
        number, matcher = self._loaded(stored, lambda each: fresh[each] if each in fresh else self._events.get(each))
        for time, row in rows:
            yield from self._put_out(matcher, *matcher.advance(time), time, ctx)
            number += 1
            fresh[number] = row
            found = matcher.take(Event(number, time, row))
            self._set_timers(matcher, time, ctx)
            yield from self._put_out(matcher, found, [], time, ctx)
        yield from self._put_out(matcher, *matcher.advance(until), until, ctx)
        self._store(number, matcher, fresh)

    def _set_timers(self, matcher: Matcher, time: int, ctx: Context) -> None:
        """For the ends of matches that the row has begun or gone on with."""
        ends = {time + each.node.time_ms for each in matcher.partial if each.node.time_ms and each.last_ms == time}
        if matcher.started and self._graph.time_ms is not None:
            ends.add(time + self._graph.time_ms)
        timers = ctx.timer_service()
        register = timers.register_event_time_timer if self._in_event_time else timers.register_processing_time_timer
        for end in ends:
            register(end)

    def _put_out(
        self, matcher: Matcher, found: list[Partial], over: list[TimedOut], time: int, ctx: Context
    ) -> Iterator[Any]:
        for match in found:
            yield from self._function.process_match(matcher.rows(match), MatchContext(ctx, time)) or ()
        if self._handles_timeouts:
            for partial, end in over:
                rows = matcher.rows(partial)
                yield from self._function.process_timed_out_match(rows, MatchContext(ctx, end)) or ()

    # ---- state

    def _store(self, number: int, matcher: Matcher, fresh: dict[int, Any]) -> None:
        """Keeps the matches, and the events that one of them has; most have none, and are never written."""
        partial, complete = list(matcher.partial), list(matcher.complete)
        used = {step.number for each in (*partial, *complete) for step in each.steps()}
        for known in [each for each in self._events.keys() if each not in used]:  # noqa: SIM118 (no dict)
            self._events.remove(known)
        for each in used & fresh.keys():
            self._events.put(each, fresh[each])
        if not used:
            self._matches.clear()
        else:
            self._matches.update((number, [*map(_stored, partial)], [*map(_stored, complete)]))

    def _loaded(self, stored: Any, row_of: Callable[[int], Any]) -> tuple[int, Matcher]:
        number, partial, complete = (0, [], []) if stored is None else stored
        paths: dict[Any, Step] = {}
        waiting = [self._partial(each, paths) for each in partial]
        ended = [self._partial(each, paths) for each in complete]
        return number, Matcher(self._graph, self._pattern.skip, row_of, waiting or None, ended)

    def _partial(self, stored: Any, paths: dict[Any, Step]) -> Partial:
        name, first_ms, last_ms, steps = stored
        node = self._graph.nodes.get(name)
        if node is None:
            raise IncompatibleState(
                f"a match waits at stage {name}, which the pattern does not have any more.",
                "set back the pattern, or begin a new checkpoint.",
            )
        path: Step | None = None
        for stage, number in steps:
            # Paths share their beginnings, as they did before they were stored.
            path = paths.setdefault((id(path), stage, number), Step(path, stage, number))
        return Partial(node, path, steps[0][1] if steps else -1, first_ms, last_ms)


def _stored(partial: Partial) -> tuple[Any, ...]:
    path = [(step.stage, step.number) for step in partial.steps()]
    return partial.node.name, partial.first_ms, partial.last_ms, path
