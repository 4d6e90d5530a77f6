"""Settings that count for the start of one query alone, such as the one that keeps Spark from purging its logs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from snapline.recovery.state_recovery import STATE_FORMAT

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

#: Results depend on these, and Spark's offset log has others only (OffsetSeqMetadata): a query that starts again would
#: take over what its session has by then.
OF_RESULTS = (
    "spark.sql.session.timeZone",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.streaming.noDataMicroBatches.enabled",
    STATE_FORMAT,
)


def values_of(conf: Conf, names: Iterable[str]) -> dict[str, str | None]:
    """The values that a session has by itself, also in the moment in which a query of it starts. None: not set."""
    with _one_at_a_time:
        return {name: conf.get(name, None) for name in names}


@contextmanager
def starting_with(conf: Conf, wanted: Mapping[str, str | None]) -> Iterator[None]:
    """For the start of one query, which takes a copy of its session's settings then; not for its run. None: unset."""
    with _one_at_a_time:
        before = {name: conf.get(name, None) for name in wanted}
        # A setting that is as wanted already is the user's, who may change it meanwhile.
        changed = [name for name, value in wanted.items() if value != before[name]]
        _set_all(conf, {name: wanted[name] for name in changed})
        try:
            yield
        finally:
            _set_all(conf, {name: before[name] for name in changed})


def _set_all(conf: Conf, wanted: Mapping[str, str | None]) -> None:
    for name, value in wanted.items():
        if value is None:
            conf.unset(name)
        else:
            conf.set(name, value)
