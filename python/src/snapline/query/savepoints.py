"""Checkpoints and savepoints that the owner of a running query asks for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration, StorageFailure
from snapline.query.runs import Runs

if TYPE_CHECKING:
    from snapline.savepoint import SavepointMetadata

_POLL = 0.05


def await_checkpoint(runs: Runs, request: int, timeout: float) -> int:
    """The number of a checkpoint that was asked for.

    Args:
        timeout: in seconds.

    Raises:
        StorageFailure: it failed, or was not complete in time.
    """
    deadline = time.monotonic() + timeout
    while True:
        outcome, _, rest = str(runs.driver.outcome(request)).partition(" ")
        if outcome == "completed":
            return int(rest)
        if outcome == "failed":
            raise StorageFailure(f"the checkpoint failed: {rest}.", "see the log of the driver; ask again.")
        if time.monotonic() > deadline:
            raise StorageFailure(
                f"no checkpoint was complete within {timeout:g} s.",
                "give it more time; a query without an interval and without input has no barrier to take one at.",
            )
        time.sleep(_POLL)


def take_savepoint(runs: Runs, path: str, timeout: float, format: str, in_flight: bool) -> SavepointMetadata:
    """Of a query that runs: see ``SupervisedQuery.savepoint``."""
    from snapline.savepoint import create_savepoint
    from snapline.savepoint.create import check_format

    check_format(format, in_flight)
    if not (runs.takes_checkpoints or runs.is_unaligned):
        return create_savepoint(runs.session, runs.location, path, format=format)
    request = runs.driver.lend(in_flight)
    try:
        number = await_checkpoint(runs, request, timeout)
        return create_savepoint(runs.session, runs.location, path, number=number, format=format, in_flight=in_flight)
    finally:
        runs.driver.giveBack(request)


def check_last_savepoint(runs: Runs, path: str, drain: bool, format: str, in_flight: bool) -> None:
    """Before the query is stopped for a savepoint.

    Raises:
        InvalidConfiguration: the folder is not empty, or the arguments do not fit.
    """
    from snapline.savepoint.create import check_format, check_new

    check_format(format, in_flight)
    if drain and in_flight:
        raise InvalidConfiguration(
            "drain=True processes everything to the end of event time, so that nothing can be in_flight.",
            "choose one of the two.",
        )
    check_new(runs.session, path)


def take_last_savepoint(runs: Runs, path: str, drain: bool, format: str, in_flight: bool) -> SavepointMetadata:
    """Of a query that has stopped, after the batches that it still has to run: see
    ``SupervisedQuery.stop_with_savepoint``."""
    from snapline.savepoint import create_savepoint

    runs.check_still_owned()
    if runs.takes_checkpoints or runs.is_unaligned or runs.may_have_part or drain:
        last = runs.again()
        try:
            if drain:
                last.end_event_time()
            elif in_flight:
                last.finish_cut_batch()
            elif last.is_unaligned:
                last.drain()
            last.settle()
            last.catch_up()
        finally:
            last.driver.end("SUSPENDED")
    return create_savepoint(runs.session, runs.location, path, format=format, in_flight=in_flight)
