"""The graph that a pattern becomes: nodes where a match waits, and edges that events take."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from snapline.pattern.conditions import Condition


class Action(Enum):
    """The ways in which an event takes an edge."""

    TAKE = "becomes a part of the match"
    IGNORE = "is passed over"
    PROCEED = "is offered to the edges of the next node"


class Kind(Enum):
    """The kinds of nodes."""

    NORMAL = "normal"
    FINAL = "the match is complete"
    STOP = "the match is discarded"
    PENDING = "the match is complete once its time is over"


@dataclass(eq=False)
class Node:
    """A place of a match.

    Attributes:
        name: its name in the graph, by which the state knows it: the stage's, with a number where there are several.
        stage: the name of the stage, by which a match has its events.
        kind: its kind.
        time_ms: the most time since the event before; None: any.
        edges: the edges from here, in the order in which they are tried.
    """

    name: str
    stage: str
    kind: Kind = Kind.NORMAL
    time_ms: int | None = None
    edges: list[Edge] = field(default_factory=list)

    def take(self, target: Node, condition: Condition) -> None:
        self.edges.append(Edge(Action.TAKE, self, target, condition))

    def ignore(self, target: Node, condition: Condition) -> None:
        self.edges.append(Edge(Action.IGNORE, self, target, condition))

    def proceed(self, target: Node, condition: Condition) -> None:
        self.edges.append(Edge(Action.PROCEED, self, target, condition))


@dataclass(eq=False)
class Edge:
    """An edge. A greedy stage narrows the conditions of edges behind it."""

    action: Action
    source: Node
    target: Node
    condition: Condition


@dataclass(frozen=True)
class Graph:
    """A pattern.

    Attributes:
        nodes: by name.
        start: where every match begins.
        time_ms: the most time from a match's first event to its last; None: any.
        stages: the names of the stages, in order.
    """

    nodes: dict[str, Node]
    start: Node
    time_ms: int | None
    stages: tuple[str, ...]
