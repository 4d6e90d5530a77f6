"""Follows the matches of one key through the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from snapline.pattern.graph import Action, Edge, Graph, Kind, Node
from snapline.pattern.match_queue import MatchQueue
from snapline.pattern.skip import AfterMatchSkipStrategy

_NEVER = (1 << 63) - 1


class Step(NamedTuple):
    """The last event of a path, and the path before it. Paths share their beginnings."""

    before: Step | None
    stage: str
    number: int


class Partial(NamedTuple):
    """A match on its way.

    Attributes:
        node: where it waits.
        path: its events; None: it has none.
        first: the number of its first event; -1: it has none.
        first_ms: the time of that.
        last_ms: the time of its last event.
    """

    node: Node
    path: Step | None = None
    first: int = -1
    first_ms: int = 0
    last_ms: int = 0

    def order(self) -> int:
        """By the first event; one without comes last."""
        return _NEVER if self.first < 0 else self.first

    def steps(self) -> list[Step]:
        """From the first event to the last."""
        found = []
        step = self.path
        while step is not None:
            found.append(step)
            step = step.before
        return found[::-1]


@dataclass
class Event:
    """An event, by its number within the key: a later one has a greater.

    Attributes:
        answers: the answers of conditions of the row alone.
    """

    number: int
    time_ms: int
    row: Any
    answers: dict[int, bool] = field(default_factory=dict)


class TimedOut(NamedTuple):
    """A match whose time was over before it was complete, and when that was."""

    partial: Partial
    time_ms: int


class Matcher:
    """The matches of one key, between two events.

    Attributes:
        partial: those on their way. The one without an event is always among them.
        complete: those that wait until no earlier one can discard them.
        started: whether the last event began a match.
    """

    def __init__(
        self,
        graph: Graph,
        skip: AfterMatchSkipStrategy,
        row_of: Callable[[int], Any],
        partial: list[Partial] | None = None,
        complete: list[Partial] | None = None,
    ) -> None:
        """
        Args:
            graph: the pattern.
            skip: the matches that go when there is one.
            row_of: gives the row of an event by its number.
            partial: as of the attribute, in the order of a matcher before.
            complete: likewise.
        """
        self._graph = graph
        self._skip = skip
        self._row_of = row_of
        self.partial = MatchQueue(Partial.order, partial if partial is not None else [Partial(graph.start)])
        self.complete = MatchQueue(Partial.order, complete or [])
        self.started = False

    def advance(self, time_ms: int) -> tuple[list[Partial], list[TimedOut]]:
        """The time moves on: matches that are complete by that, and those that were not in time."""
        over: list[TimedOut] = []
        ended: list[Partial] = []
        left: MatchQueue[Partial] = MatchQueue(Partial.order)
        for each in self.partial:
            end = self._over_at(each, time_ms)
            if end is None:
                left.add(each)
            elif each.node.kind is Kind.PENDING:
                ended.append(each)
            else:
                over.append(TimedOut(each, end))
        return self._settle(ended, left), over

    def _over_at(self, partial: Partial, time_ms: int) -> int | None:
        """When its time was over, since the event before or since the first; None: it is not."""
        if partial.path is None:
            return None
        between, whole = partial.node.time_ms, self._graph.time_ms
        if between is not None and time_ms - partial.last_ms >= between:
            return partial.last_ms + between
        if whole is not None and time_ms - partial.first_ms >= whole:
            return partial.first_ms + whole
        return None

    def take(self, event: Event) -> list[Partial]:
        """The matches that are complete with an event."""
        self.started = False
        found: list[Partial] = []
        left: MatchQueue[Partial] = MatchQueue(Partial.order)
        for each in self.partial:
            stops = False
            kept = []
            for following in self._following(each, event):
                if each.path is None and following.path is not None:
                    self.started = True
                if following.node.kind is Kind.FINAL:
                    found.append(following)
                elif following.node.kind is Kind.STOP:
                    stops = True
                else:
                    kept.append(following)
            if not stops:
                left.add_all(kept)
        return self._settle(found, left)

    def _settle(self, found: list[Partial], left: MatchQueue[Partial]) -> list[Partial]:
        """Puts out what no match that began earlier can discard any more, and lets the skip strategy discard."""
        # In the order of a queue of their own: those with one order are told apart by it.
        potential: MatchQueue[Partial] = MatchQueue(Partial.order)
        potential.add_all(found)
        self.complete.add_all(potential)
        out: list[Partial] = []
        while (earliest := self.complete.first()) is not None:
            if self._skip.skips:
                waits = left.first()
                if waits is not None and earliest.order() > waits.order():
                    break
            self.complete.take()
            self._discard(earliest, left)
            out.append(earliest)
        self.partial = left
        return out

    def _discard(self, match: Partial, left: MatchQueue[Partial]) -> None:
        limit = self._skip.limit(self.numbers(match))
        if limit is not None:
            left.keep(lambda each: each.first < 0 or each.first >= limit)
            self.complete.keep(lambda each: each.first < 0 or each.first >= limit)

    def numbers(self, match: Partial) -> dict[str, list[int]]:
        """The numbers of its events, by stage."""
        found: dict[str, list[int]] = {}
        for step in match.steps():
            found.setdefault(step.stage, []).append(step.number)
        return found

    def _following(self, partial: Partial, event: Event) -> Iterator[Partial]:
        """The matches that one becomes with an event."""
        candidate = _Candidate(self, partial, event)
        for edge in self._edges(partial.node, candidate):
            if edge.action is Action.IGNORE:
                if partial.path is not None:
                    yield partial._replace(node=edge.target)
                continue
            step = Step(partial.path, edge.source.stage, event.number)
            first, first_ms = partial.first, partial.first_ms
            if partial.path is None:
                first, first_ms = event.number, event.time_ms
            taken = Partial(edge.target, step, first, first_ms, event.time_ms)
            yield taken
            end = self._end_without_events(edge.target, candidate)
            if end is not None:
                yield taken._replace(node=end)
        if partial.path is None:
            yield partial

    @staticmethod
    def _edges(node: Node, candidate: _Candidate) -> list[Edge]:
        """The edges that take or ignore the event, through those that proceed."""
        found = []
        nodes = [node]
        while nodes:
            for edge in nodes.pop().edges:
                if edge.condition.holds(candidate):
                    if edge.action is Action.PROCEED:
                        nodes.append(edge.target)
                    else:
                        found.append(edge)
        return found

    @staticmethod
    def _end_without_events(node: Node, candidate: _Candidate) -> Node | None:
        """The final node, if all stages from here on may be left out."""
        nodes = [node]
        while nodes:
            for edge in nodes.pop().edges:
                if edge.action is Action.PROCEED and edge.condition.holds(candidate):
                    if edge.target.kind is Kind.FINAL:
                        return edge.target
                    nodes.append(edge.target)
        return None

    def rows(self, match: Partial) -> dict[str, list[Any]]:
        """The rows of its events, by stage, in the order of the pattern."""
        numbers = self.numbers(match)
        return {
            stage: [self._row_of(number) for number in numbers[stage]]
            for stage in self._graph.stages
            if stage in numbers
        }


class _Candidate:
    """An event beside a match, for conditions."""

    def __init__(self, matcher: Matcher, partial: Partial, event: Event) -> None:
        self._matcher = matcher
        self._partial = partial
        self._event = event
        self._rows: dict[str, list[Any]] | None = None

    @property
    def row(self) -> Any:
        return self._event.row

    @property
    def answers(self) -> dict[int, bool]:
        return self._event.answers

    def timestamp(self) -> int:
        """The time of the event in ms."""
        return self._event.time_ms

    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The rows that the match has under a name so far."""
        if self._rows is None:
            self._rows = self._matcher.rows(self._partial)
        return self._rows.get(name, [])
