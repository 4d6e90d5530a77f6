"""Queries of a client of Spark Connect, in the Python process beside the server. A client calls these functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from snapline.errors import StateNotFound
from snapline.query.supervised import SupervisedQuery

#: The queries of this process, by the names under which their client has them.
queries: dict[str, SupervisedQuery] = {}


def start_beside(
    start: Callable[..., SupervisedQuery], writer: Any, arguments: Mapping[str, Any]
) -> dict[str, str | None]:
    """Starts a query.

    Args:
        start: :func:`snapline.start`.
        writer: a classic one.
        arguments: the others.

    Returns:
        ``key``, by which the client asks for it, and Spark's ``id`` and ``name``.

    Raises: as :func:`snapline.start`.
    """
    query = start(writer, **arguments)
    key = str(uuid4())
    queries[key] = query
    return {"key": key, "id": str(query.id), "name": query.name}


def call_query(key: str, method: str, *args: Any, **kwargs: Any) -> Any:
    """Calls a method of a query.

    Raises:
        StateNotFound: this process has no such query.
        Exception: as the method.
    """
    return getattr(_query(key), method)(*args, **kwargs)


def look_at_query(key: str, name: str) -> Any:
    """A property of a query; progress as Spark's JSON.

    Raises:
        StateNotFound: this process has no such query.
    """
    value = getattr(_query(key), name)
    if name == "lastProgress":
        return None if value is None else value.json
    if name == "recentProgress":
        return [each.json for each in value]
    return str(value) if name == "runId" else value


def explain_query(key: str, extended: bool) -> str:
    """The plan of the last batch.

    Raises:
        StateNotFound: this process has no such query.
    """
    return str(_query(key)._jsq.explainInternal(extended))


def _query(key: str) -> SupervisedQuery:
    if key not in queries:
        raise StateNotFound(
            "the Python process that ran this query has ended, and the query with it.",
            "start it again: it goes on from its newest checkpoint.",
        )
    return queries[key]
