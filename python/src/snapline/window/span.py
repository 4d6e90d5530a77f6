"""Lengths of time: timedeltas, or milliseconds."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from snapline.errors import InvalidConfiguration

Span: TypeAlias = timedelta | int


def millis_of(span: Span, what: str, *, least: int = 1) -> int:
    """A length in ms.

    Raises:
        InvalidConfiguration: it is no length, or less than ``least`` ms; ``what`` names it.
    """
    if isinstance(span, timedelta):
        millis, rest = divmod(span, timedelta(milliseconds=1))
    else:
        millis, rest = span, timedelta()
    if type(millis) is not int or rest:
        raise InvalidConfiguration(f"{what} is {span!r}.", "give a timedelta, or a whole number of milliseconds.")
    if millis < least:
        raise InvalidConfiguration(f"{what} is {millis} ms.", f"give at least {least} ms.")
    return millis
