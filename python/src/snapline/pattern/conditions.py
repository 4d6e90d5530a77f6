"""Conditions of events: those that users write, and those that edges of the graph are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import signature
from typing import Any, Protocol

from snapline.errors import InvalidConfiguration


class Candidate(Protocol):
    """An event beside the match that it may become a part of."""

    @property
    def row(self) -> Any: ...

    @property
    def answers(self) -> dict[int, bool]:
        """The answers of conditions that look at the event alone."""

    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The rows that the match has under a name so far."""


class Condition(ABC):
    """Says whether an event may take an edge."""

    @abstractmethod
    def holds(self, candidate: Candidate) -> bool: ...

    def __and__(self, other: Condition) -> Condition:
        if isinstance(self, Always):
            return other
        return self if isinstance(other, Always) else _Both(self, other)

    def __or__(self, other: Condition) -> Condition:
        return _Either(self, other)

    def __invert__(self) -> Condition:
        return _Not(self)


class Always(Condition):
    """Every event may."""

    def holds(self, candidate: Candidate) -> bool:
        return True


class Of(Condition):
    """A function of the row; it is called once for each event, whatever the matches are."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def holds(self, candidate: Candidate) -> bool:
        answers = candidate.answers
        known = answers.get(id(self))
        if known is None:
            known = answers[id(self)] = bool(self._function(candidate.row))
        return known


class OfMatch(Condition):
    """A function of the row and of the match so far."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def holds(self, candidate: Candidate) -> bool:
        return bool(self._function(candidate.row, candidate))


class _Both(Condition):
    def __init__(self, first: Condition, second: Condition) -> None:
        self._first, self._second = first, second

    def holds(self, candidate: Candidate) -> bool:
        return self._first.holds(candidate) and self._second.holds(candidate)


class _Either(Condition):
    def __init__(self, first: Condition, second: Condition) -> None:
        self._first, self._second = first, second

    def holds(self, candidate: Candidate) -> bool:
        return self._first.holds(candidate) or self._second.holds(candidate)


class _Not(Condition):
    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def holds(self, candidate: Candidate) -> bool:
        return not self._condition.holds(candidate)


def condition_of(function: Any, what: str) -> Condition:
    """The condition that a user has written.

    Raises:
        InvalidConfiguration: it is no function of a row, or of a row and a context.
    """
    count = None
    if callable(function) and not isinstance(function, type):
        try:
            count = len(signature(function).parameters)
        except ValueError:
            count = 1  # a function of C
    if count == 1:
        return Of(function)
    if count == 2:
        return OfMatch(function)
    raise InvalidConfiguration(
        f"the condition {function!r} of {what}.", "give a function of a row, or of a row and the context of the match."
    )
