"""Members of the JSON in a file's meta, of which nothing is believed."""

from __future__ import annotations

import json
from typing import Any

from snapline.format.names import Kind, VersionRef, is_uid


class BadMeta(ValueError):
    """The meta is not what FORMAT.md says."""


def json_object(data: bytes) -> dict[str, Any]:
    """
    Raises:
        BadMeta: it is none.
    """
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise BadMeta(f"it is no JSON ({type(e).__name__})") from None
    if not isinstance(found, dict):
        raise BadMeta("it is no JSON object")
    return found


def meta_object(data: bytes, kind: Kind) -> dict[str, Any]:
    """
    Raises:
        BadMeta: it is none of that kind.
    """
    meta = json_object(data)
    if need(meta, "kind", str) != kind.value:
        raise BadMeta(f"it is not that of a {kind.value}")
    return meta


def need(item: dict[str, Any], member: str, kind: type) -> Any:
    """
    Raises:
        BadMeta: it is missing, or of another type.
    """
    value = item.get(member)
    if type(value) is not kind:
        raise BadMeta(f"{member} is missing or of another type")
    return value


def count(item: dict[str, Any], member: str) -> int:
    """
    Raises:
        BadMeta: it is no whole number from 0 on.
    """
    value = item.get(member)
    # A bool is an int to Python, not to JSON.
    if type(value) is not int or value < 0:
        raise BadMeta(f"{member} is no number from 0 on")
    return value


def items(meta: dict[str, Any], member: str) -> list[dict[str, Any]]:
    """
    Raises:
        BadMeta: it is no array of objects.
    """
    found: list[dict[str, Any]] = need(meta, member, list)
    if not all(isinstance(item, dict) for item in found):
        raise BadMeta(f"{member} holds something else than objects")
    return found


def uid(item: dict[str, Any]) -> str:
    """The member ``uid``. It becomes part of a file's name.

    Raises:
        BadMeta: it is none.
    """
    found: str = need(item, "uid", str)
    if not is_uid(found):
        raise BadMeta("a uid is no UUID of version 7")
    return found


def version_ref(item: dict[str, Any]) -> VersionRef:
    """
    Raises:
        BadMeta: version or uid is none.
    """
    return VersionRef(count(item, "version"), uid(item))
