"""Settings that count for the start of one query alone, such as the one that keeps Spark from purging its logs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

# The setting is the session's, and queries start side by side: those that are started again by themselves, for one.
_one_at_a_time = threading.Lock()


class Conf(Protocol):
    """The settings of a session, as Spark has them."""

    def get(self, key: str, default: str | None) -> str | None:
        """The value of a setting; ``default``: it is not set."""

    def set(self, key: str, value: str) -> None:
        """Sets it."""

    def unset(self, key: str) -> None:
        """Takes it back."""


# The coordinator purges the logs itself: a replay needs them from the oldest checkpoint on.
LONG_LOGS = {"spark.sql.streaming.minBatchesToRetain": str(2**31 - 2)}


@contextmanager
def starting_with(conf: Conf, wanted: Mapping[str, str | None]) -> Iterator[None]:
    """For the start of one query, which takes a copy of its session's settings then; not for its run. None: unset."""
    with _one_at_a_time:
        before = {name: conf.get(name, None) for name in wanted}
        _set_all(conf, wanted)
        try:
            yield
        finally:
            _set_all(conf, before)


def _set_all(conf: Conf, wanted: Mapping[str, str | None]) -> None:
    for name, value in wanted.items():
        if value is None:
            conf.unset(name)
        else:
            conf.set(name, value)
