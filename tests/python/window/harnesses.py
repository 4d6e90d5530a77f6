"""Harnesses of windows over rows of a key, a value and a time in ms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from snapline.testing import KeyedTestHarness
from snapline.window import ProcessWindowFunction

EPOCH = datetime(1970, 1, 1)
MS = timedelta(milliseconds=1)
ROWS = "k string, v long, t timestamp"
FIRED = "k string, s long, e long, vs array<long>"


def at(millis: int) -> datetime:
    return EPOCH + millis * MS


class Values(ProcessWindowFunction):
    """The window and the values of its rows."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, getattr(window, "start", None), getattr(window, "end", None), [row.v for row in elements]


def harness_of(build: Callable[[Any], Any], **more: Any) -> KeyedTestHarness:
    return KeyedTestHarness.of_stream(build, key="k", schema=ROWS, event_time="t", **more)


def values_of(build: Callable[[Any], Any], **more: Any) -> KeyedTestHarness:
    """Of a windowed stream, whose windows put out their values."""
    return harness_of(lambda stream: build(stream).process(Values(), FIRED), **more)


def rows(*values: tuple[str, int, int]) -> list[tuple[Any, ...]]:
    return [(key, value, at(time)) for key, value, time in values]
