"""From a pattern to its graph, built from its last stage to its first."""

from __future__ import annotations

from snapline.pattern.conditions import Always, Condition
from snapline.pattern.graph import Action, Edge, Graph, Kind, Node
from snapline.pattern.pattern import Contiguity, Pattern, WithinType

_END = "$end"


def compile_pattern(pattern: Pattern) -> Graph:
    """The graph of a pattern that was checked."""
    return _Compiler(pattern).graph()


class _Compiler:
    """Builds one graph. ``self._stage`` is the stage that is being built, ``self._next`` the one behind it."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._stage = pattern
        self._next: Pattern | None = None
        self._nodes: dict[str, Node] = {}
        self._stops: dict[str, Node] = {}
        #: By the name of a node, what it was before a greedy stage narrowed its edges.
        self._unnarrowed: dict[str, Node] = {}

    def graph(self) -> Graph:
        sink = self._node(_END, Kind.FINAL)
        stages = self._pattern.stages()
        for stage in reversed(stages):
            self._stage = stage
            if stage.contiguity is Contiguity.NOT_FOLLOW:
                sink = self._never_until_the_end(sink)
            elif stage.contiguity is Contiguity.NOT_NEXT:
                sink = self._not_next(sink)
            else:
                sink = self._stage_before(sink)
            self._next = stage
        return Graph(self._nodes, sink, self._pattern.time_ms, tuple(stage.name for stage in stages))

    # ---- stages that must not come

    def _never_until_the_end(self, sink: Node) -> Node:
        """As the last stage it waits for the end of the time; before others it is a condition of their edges."""
        stage = self._stage
        has_time = WithinType.PREVIOUS_AND_CURRENT in stage.within_ms or self._pattern.time_ms is not None
        if not (has_time and sink.kind is Kind.FINAL):
            return sink
        waiting = self._node(stage.name, Kind.PENDING, takes=True)
        waiting.proceed(self._stop(stage), stage.condition)
        waiting.ignore(waiting, ~stage.condition)
        return waiting

    def _not_next(self, sink: Node) -> Node:
        stage = self._stage
        node = self._node(stage.name, takes=True)
        if sink.kind is Kind.FINAL:
            # The next event has to come before the match is complete.
            node.ignore(sink, ~stage.condition)
        else:
            node.proceed(sink, ~stage.condition)
        node.proceed(self._stop(stage), stage.condition)
        return node

    def _nots_before(self) -> list[Pattern]:
        """The stages that must not come and lie right before this one, or before optional ones before it."""
        found = []
        stage = self._stage.previous
        while stage is not None and (stage.is_optional or stage.contiguity is Contiguity.NOT_FOLLOW):
            if stage.contiguity is Contiguity.NOT_FOLLOW:
                found.append(stage)
            stage = stage.previous
        return found

    def _stop(self, stage: Pattern) -> Node:
        """All ways to one stage that must not come end in one node."""
        node = self._stops.get(stage.name)
        if node is None:
            node = self._stops[stage.name] = self._node(stage.name, Kind.STOP)
            node.take(node, stage.condition)
        return node

    def _stop_at_nots(self, node: Node) -> None:
        for stage in self._nots_before():
            node.proceed(self._stop(stage), stage.condition)

    def _stop_at_not_behind(self, node: Node) -> None:
        """Between the events of a stage, the one behind it must not come either."""
        behind = self._next
        if behind is not None and behind.contiguity is Contiguity.NOT_FOLLOW:
            node.proceed(self._stop(behind), behind.condition)

    # ---- stages that come

    def _stage_before(self, sink: Node) -> Node:
        stage = self._stage
        if stage.count is None:
            first = self._once(sink, sink, stage.condition, self._ignored(stage.contiguity), stage.is_optional)
        elif stage.is_looping:
            first = self._times(self._loop(self._past_nots(sink)), sink, stage.count[0], stage.count[0])
        else:
            least, most = stage.count
            assert most is not None
            first = self._times(sink, sink, least, most)
        self._stop_at_nots(first)
        return first

    def _once(
        self, sink: Node, behind: Node | None, takes: Condition, ignores: Condition | None, is_optional: bool
    ) -> Node:
        """A node that takes one event.

        Args:
            sink: the node after the event.
            behind: the node where a match goes that leaves it out.
            takes: the condition of the event.
            ignores: the condition of events in between; None: there may be none.
            is_optional: whether it may be left out.
        """
        stage = self._stage
        node = self._node(stage.name, takes=True)
        after = self._past_nots(sink)
        node.take(after, takes)
        if is_optional:
            assert behind is not None
            self._proceed(node, behind)
        if ignores is not None:
            waits = node
            if is_optional:
                # Once an event was passed over, the stage is no longer left out.
                waits = self._node(stage.name)
                waits.take(after, takes)
                waits.ignore(waits, ignores)
                self._stop_at_nots(waits)
            node.ignore(waits, ignores)
        return node

    def _proceed(self, node: Node, behind: Node) -> None:
        """Leaves the stage. A greedy one narrows the edges behind it, unless ``until`` has ended it."""
        until = self._stage.until_condition
        if self._stage.is_greedy and until is not None:
            node.proceed(self._unnarrowed.get(behind.name, behind), until)
            node.proceed(behind, ~until)
        else:
            node.proceed(behind, Always())

    def _times(self, sink: Node, behind: Node, least: int, most: int) -> Node:
        stage = self._stage
        takes, between = self._taken(), self._between()
        if stage.is_greedy and least != most:
            self._narrow(behind, takes)
        last = sink
        for _ in range(least, most):
            last = self._once(last, behind, takes, between, True)
            self._stop_at_not_behind(last)
        for _ in range(least - 1):
            last = self._once(last, None, takes, between, False)
            self._stop_at_not_behind(last)
        return self._once(last, behind, takes, self._ignored(stage.contiguity), stage.is_optional)

    def _loop(self, sink: Node) -> Node:
        """A node that takes any number of events."""
        stage = self._stage
        takes, between = self._taken(), self._between()
        if stage.is_greedy and stage.until_condition is not None:
            self._unnarrowed[sink.name] = self._copy(sink)
        node = self._node(stage.name, takes=True)
        self._proceed(node, sink)
        if stage.is_greedy:
            self._narrow(sink, stage.condition)
        node.take(node, takes)
        self._stop_at_not_behind(node)
        if between is not None:
            waits = self._node(stage.name)
            waits.take(node, takes)
            waits.ignore(waits, between)
            node.ignore(waits, between)
            self._stop_at_not_behind(waits)
        return node

    @staticmethod
    def _narrow(node: Node, takes: Condition) -> None:
        """An event that the greedy stage takes is not for the stage behind it."""
        for edge in node.edges:
            edge.condition = edge.condition & ~takes

    def _past_nots(self, sink: Node) -> Node:
        """The sink for a match that has an event of an optional stage: what must not come before it is over then."""
        nots = self._nots_before()
        if not nots or not self._stage.is_optional:
            return sink
        names = {stage.name for stage in nots}
        copy = self._node(sink.stage, sink.kind)
        for edge in sink.edges:
            if edge.action is not Action.PROCEED:
                copy.edges.append(self._moved(edge, sink, copy))
            elif edge.target.kind is not Kind.STOP:
                copy.proceed(self._past_nots(edge.target), edge.condition)
            elif edge.target.stage not in names:
                copy.proceed(edge.target, edge.condition)
        return copy

    def _copy(self, node: Node) -> Node:
        copy = self._node(node.stage, node.kind)
        copy.edges += [self._moved(edge, node, copy) for edge in node.edges]
        return copy

    @staticmethod
    def _moved(edge: Edge, node: Node, copy: Node) -> Edge:
        """The same edge from the copy; one that leads back to the node leads back to the copy."""
        return Edge(edge.action, copy, copy if edge.target is node else edge.target, edge.condition)

    # ---- conditions

    def _taken(self) -> Condition:
        stage = self._stage
        if stage.until_condition is None:
            return stage.condition
        return ~stage.until_condition & stage.condition

    def _between(self) -> Condition | None:
        """The condition of events between two of the stage; None: there may be none."""
        ignored, until = self._ignored(self._stage.inner), self._stage.until_condition
        return ignored if until is None or ignored is None else ~until & ignored

    def _ignored(self, contiguity: Contiguity) -> Condition | None:
        if contiguity is Contiguity.STRICT:
            return None
        return Always() if contiguity is Contiguity.ANY else ~self._stage.condition

    def _node(self, stage: str, kind: Kind = Kind.NORMAL, *, takes: bool = False) -> Node:
        """A node of a name of its own. ``takes``: its match waits for an event of the stage."""
        number, name = 0, stage
        while name in self._nodes:
            name, number = f"{stage}:{number}", number + 1
        node = self._nodes[name] = Node(name, stage, kind)
        if takes:
            if self._stage.count is None:
                node.time_ms = self._stage.within_ms.get(WithinType.PREVIOUS_AND_CURRENT)
            elif ":" in name:
                # The first built of several nodes is the last event's, and Flink leaves that one out.
                node.time_ms = self._stage.times_within_ms
        return node
