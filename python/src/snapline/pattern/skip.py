"""After-match skip strategies: the matches that are given up once there is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from snapline.functions.errors import FunctionFailed

#: The numbers of a match's events, by the names of the pattern.
Numbers = Mapping[str, Sequence[int]]


class AfterMatchSkipStrategy(ABC):
    """Says which partial and complete matches go when there is a match, by the event that begins them."""

    #: The name of the pattern that it goes by.
    pattern: str | None = None
    #: Whether it discards any.
    skips = True

    @abstractmethod
    def limit(self, match: Numbers) -> int | None:
        """Matches that begin with an event of a lesser number are discarded; None: none is.

        Raises:
            FunctionFailed: the match lacks the event to skip to, and that was to be an error.
        """

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Keeps all."""
        return _NoSkip()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Discards all that begin with the same event."""
        return _ToNext()

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Discards all that began before the match ended."""
        return _PastLast()

    @staticmethod
    def skip_to_first(pattern_name: str) -> SkipToElement:
        """Discards all that began before the first event of that name."""
        return SkipToElement(pattern_name, 0)

    @staticmethod
    def skip_to_last(pattern_name: str) -> SkipToElement:
        """Discards all that began before the last event of that name."""
        return SkipToElement(pattern_name, -1)


class _NoSkip(AfterMatchSkipStrategy):
    skips = False

    def limit(self, match: Numbers) -> int | None:
        return None


class _ToNext(AfterMatchSkipStrategy):
    def limit(self, match: Numbers) -> int | None:
        return min(events[0] for events in match.values()) + 1


class _PastLast(AfterMatchSkipStrategy):
    def limit(self, match: Numbers) -> int | None:
        return max(events[-1] for events in match.values()) + 1


class SkipToElement(AfterMatchSkipStrategy):
    """Skips to the first or the last event of a name; a match without one discards nothing."""

    def __init__(self, pattern: str, at: int, fails: bool = False) -> None:
        self.pattern = pattern
        self._at = at
        self._fails = fails

    def throw_exception_on_miss(self) -> SkipToElement:
        """Fails where a match has no such event, or begins with it, so that nothing would be skipped."""
        return SkipToElement(str(self.pattern), self._at, True)

    def limit(self, match: Numbers) -> int | None:
        events = match.get(str(self.pattern))
        found = events[self._at] if events else None
        if self._fails and (found is None or found == min(each[0] for each in match.values())):
            why = "has none" if found is None else "begins with it"
            raise FunctionFailed(
                f"a match to be skipped to an event of {self.pattern}, which {why}.",
                "leave out throw_exception_on_miss(), or skip to another event.",
            )
        return found
