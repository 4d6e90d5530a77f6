"""Patterns of events, under Flink's names."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.pattern.conditions import Always, Condition, condition_of
from snapline.pattern.skip import AfterMatchSkipStrategy
from snapline.window.span import Span, millis_of


class Contiguity(Enum):
    """The events that may lie before the next one of a match."""

    STRICT = "none"
    RELAXED = "those that do not fit"
    ANY = "all"
    NOT_NEXT = "none that fits at once"
    NOT_FOLLOW = "none that fits"

    @property
    def is_not(self) -> bool:
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOW)


class WithinType(Enum):
    """The events between which a time may pass."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Pattern:
    """A stage of a pattern, and those before it. Calls change the stage, and give it back; or begin another."""

    def __init__(
        self, name: str, previous: Pattern | None, contiguity: Contiguity, skip: AfterMatchSkipStrategy
    ) -> None:
        if not isinstance(name, str) or not name or ":" in name:
            raise InvalidConfiguration(f"a pattern named {name!r}.", "give it a name, without a colon.")
        self.name = name
        self.previous = previous
        self.contiguity = contiguity
        self.skip = skip
        self.inner = Contiguity.RELAXED
        #: How often; None: once. Without a second number: so often, or more.
        self.count: tuple[int, int | None] | None = None
        self.is_optional = False
        self.is_greedy = False
        self.until_condition: Condition | None = None
        self.within_ms: dict[WithinType, int] = {}
        #: Between two events of the stage.
        self.times_within_ms: int | None = None
        self._condition: Condition | None = None

    @staticmethod
    def begin(name: str, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
        """The first stage.

        Args:
            name: by which a match has its events.
            skip: the matches that go when there is one; None: none.
        """
        if skip is not None and not isinstance(skip, AfterMatchSkipStrategy):
            raise InvalidConfiguration(
                f"the skip strategy {skip!r}.", "give one, as AfterMatchSkipStrategy.skip_past_last_event()."
            )
        return Pattern(name, None, Contiguity.STRICT, skip or AfterMatchSkipStrategy.no_skip())

    def next(self, name: str) -> Pattern:
        """A stage whose event comes right after the one before."""
        return Pattern(name, self, Contiguity.STRICT, self.skip)

    def followed_by(self, name: str) -> Pattern:
        """A stage whose event comes later: the next that fits."""
        return Pattern(name, self, Contiguity.RELAXED, self.skip)

    def followed_by_any(self, name: str) -> Pattern:
        """A stage whose event comes later: any that fits."""
        return Pattern(name, self, Contiguity.ANY, self.skip)

    def not_next(self, name: str) -> Pattern:
        """The event right after the one before does not fit this stage."""
        return self._not(name, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event fits this stage, up to the next stage or the end of the time."""
        return self._not(name, Contiguity.NOT_FOLLOW)

    def _not(self, name: str, contiguity: Contiguity) -> Pattern:
        if self.is_optional:
            raise InvalidConfiguration(
                f"{name}, which must not come, after {self.name}, which is optional.",
                "make two patterns, one with the optional stage and one without.",
            )
        return Pattern(name, self, contiguity, self.skip)

    def where(self, condition: Any) -> Pattern:
        """Takes events for which the function is true, and those before: ``lambda row: ...``.

        A function of two parameters is given the match so far too: ``ctx.get_events_for_pattern(name)``.
        """
        added = condition_of(condition, self.name)
        self._condition = added if self._condition is None else self._condition & added
        return self

    def or_where(self, condition: Any) -> Pattern:
        """Takes events for which this function is true, too."""
        added = condition_of(condition, self.name)
        self._condition = added if self._condition is None else self._condition | added
        return self

    @property
    def condition(self) -> Condition:
        return self._condition or Always()

    def one_or_more(self, within: Span | None = None) -> Pattern:
        """Takes one event or more; ``within``: the most time between two of them."""
        return self._repeat(1, None, within)

    def times_or_more(self, times: int, within: Span | None = None) -> Pattern:
        """Takes so many events or more."""
        return self._repeat(times, None, within)

    def times(self, times: int, to: int | None = None, within: Span | None = None) -> Pattern:
        """Takes so many events, or from so many ``to`` so many."""
        if times == 0 and to is not None:
            self.optional()
            times = 1
        return self._repeat(times, times if to is None else to, within)

    def _repeat(self, least: int, most: int | None, within: Span | None) -> Pattern:
        self._check(self.contiguity.is_not, "a count of events that must not come")
        self._check(self.count is not None, "a second count")
        is_wrong = type(least) is not int or least < 1 or (most is not None and (type(most) is not int or most < least))
        self._check(is_wrong, f"a count from {least!r} to {most!r}")
        self.count = least, most
        self.times_within_ms = (
            None if within is None else millis_of(within, f"the time between two events of {self.name}")
        )
        return self

    def optional(self) -> Pattern:
        """The stage may be left out."""
        self._check(self.is_optional, "a second optional()")
        self._check(self.contiguity.is_not, "optional() of events that must not come")
        self._check(self.previous is not None and self.previous.is_greedy, "optional() after a greedy stage")
        self.is_optional = True
        return self

    def greedy(self) -> Pattern:
        """Takes as many events as it can: one that fits is not left to the next stage."""
        self._check(self.count is None, "greedy() of one event")
        self._check(self.inner is Contiguity.ANY, "greedy() beside allow_combinations()")
        self.is_greedy = True
        return self

    def consecutive(self) -> Pattern:
        """No other event lies between those of the stage."""
        return self._within_stage(Contiguity.STRICT)

    def allow_combinations(self) -> Pattern:
        """Any event may lie between those of the stage, also one that fits."""
        self._check(self.is_greedy, "allow_combinations() beside greedy()")
        return self._within_stage(Contiguity.ANY)

    def _within_stage(self, contiguity: Contiguity) -> Pattern:
        self._check(self.count is None, f"{contiguity.name.lower()} order of one event")
        self._check(self.inner is not Contiguity.RELAXED, "consecutive() and allow_combinations() more than once")
        self.inner = contiguity
        return self

    def until(self, condition: Any) -> Pattern:
        """Ends ``one_or_more()`` and ``times_or_more()``: an event for which the function is true ends the stage."""
        self._check(not self.is_looping, "until() of a stage that ends by itself")
        self._check(self.until_condition is not None, "a second until()")
        self.until_condition = condition_of(condition, f"until() of {self.name}")
        return self

    def within(self, time: Span, kind: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
        """The most time of a match, from its first event to its last; or from the event before to this stage's."""
        self.within_ms[kind] = millis_of(time, f"the time of {self.name}")
        return self

    @property
    def is_looping(self) -> bool:
        """Whether there is no most of its events."""
        return self.count is not None and self.count[1] is None

    def stages(self) -> list[Pattern]:
        """All stages, the first one first."""
        return [*self._backwards()][::-1]

    def _backwards(self) -> Iterator[Pattern]:
        stage: Pattern | None = self
        while stage is not None:
            yield stage
            stage = stage.previous

    @property
    def time_ms(self) -> int | None:
        """The most time of a match; None: any."""
        times = [stage.within_ms.get(WithinType.FIRST_AND_LAST) for stage in self._backwards()]
        return min((time for time in times if time is not None), default=None)

    def _check(self, is_wrong: bool, found: str) -> None:
        if is_wrong:
            raise InvalidConfiguration(
                f"{found} in stage {self.name} of a pattern.", "see the table of stages in docs/patterns.md."
            )


def check_pattern(pattern: Any) -> None:
    """
    Raises:
        InvalidConfiguration: it is no pattern, or it can never match, or would keep events for ever.
    """
    if not isinstance(pattern, Pattern):
        raise InvalidConfiguration(f"the pattern {pattern!r}.", 'give one: Pattern.begin("first").where(...).')
    stages = pattern.stages()
    names = [stage.name for stage in stages]
    if len(set(names)) != len(names):
        raise InvalidConfiguration(
            f"a pattern with the stages {', '.join(names)}.", "give each stage a name of its own."
        )
    if pattern.skip.pattern is not None and pattern.skip.pattern not in names:
        raise InvalidConfiguration(
            f"a skip to {pattern.skip.pattern} in a pattern with the stages {', '.join(names)}.", "skip to one of them."
        )
    time = pattern.time_ms
    between = {stage.name: stage.within_ms.get(WithinType.PREVIOUS_AND_CURRENT) for stage in stages}
    if time is not None and any(each is not None and each > time for each in between.values()):
        raise InvalidConfiguration(
            "a pattern with more time between two events than for all of them.", "give within() a longer time."
        )
    if pattern.contiguity is Contiguity.NOT_FOLLOW and time is None and between[pattern.name] is None:
        raise InvalidConfiguration(
            f"a pattern that ends with {pattern.name}, which must not come, and without a time.",
            "give it within(...): a match is complete when that time is over.",
        )
    for stage in stages:
        ends = stage.until_condition is not None or stage.inner is Contiguity.STRICT or stage.times_within_ms
        if stage.is_looping and not ends and time is None:
            raise InvalidConfiguration(
                f"a pattern without end: stage {stage.name} takes any number of events in any time.",
                "give the pattern within(...), or the stage until(...) or consecutive().",
            )
    if all(stage.is_optional or stage.contiguity.is_not for stage in stages):
        raise InvalidConfiguration("a pattern that matches no event at all.", "let one stage not be optional.")
