"""Calls of the user's function: what it raises gets the key and the row."""

from __future__ import annotations

from typing import Any

from snapline.errors import SnaplineError
from snapline.functions.errors import FunctionFailed


def failed(cause: Exception, method: str, name: str, **where: Any) -> SnaplineError:
    """The error to raise from what a method of the function raised."""
    if isinstance(cause, SnaplineError):
        return cause
    place = ", ".join(f"{what} {value!r:.2000}" for what, value in where.items())
    return FunctionFailed(
        f"{method} of {name} raised {type(cause).__name__}: {cause}{' at ' if place else ''}{place}.",
        "see the traceback of the function above.",
    )
