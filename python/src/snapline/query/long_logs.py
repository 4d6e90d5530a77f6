"""Keeps Spark from purging the logs of queries that start under a coordinator."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

RETAIN = "spark.sql.streaming.minBatchesToRetain"
# The coordinator purges the logs itself: a replay needs them from the oldest checkpoint on.
FOR_EVER = str(2**31 - 2)

# The setting is the session's, and queries start side by side: those that are started again by themselves, for one.
_one_at_a_time = threading.Lock()


class Conf(Protocol):
    """The settings of a session, as Spark has them."""

    def get(self, key: str, default: str | None) -> str | None:
        """What it is set to."""

    def set(self, key: str, value: str) -> None:
        """Sets it."""

    def unset(self, key: str) -> None:
        """Takes it back."""


@contextmanager
def long_logs(conf: Conf, **also: str) -> Iterator[None]:
    """For the start of one query, which reads then how much of its logs to keep; not for its run.

    ``also``: other settings that count for this query alone.
    """
    with query_settings(conf, {RETAIN: FOR_EVER, **also}):
        yield


@contextmanager
def query_settings(conf: Conf, wanted: Mapping[str, str]) -> Iterator[None]:
    """Sets them for the start of one query, one query at a time."""
    with _one_at_a_time:
        before = {name: conf.get(name, None) for name in wanted}
        for name, value in wanted.items():
            conf.set(name, value)
        try:
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    conf.unset(name)
                else:
                    conf.set(name, old)
