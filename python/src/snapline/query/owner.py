"""The JVM's side of this process, where the JVM outlives it: beside a server of Spark Connect."""

from __future__ import annotations

from typing import Any

_owner: Any = None


def set_owner(owner: Any) -> None:
    """
    Args:
        owner: ``owner.owns(driver)`` is called for each coordinator, which is ended if this process dies.
    """
    global _owner
    _owner = owner


def owned(driver: Any) -> Any:
    """A coordinator that was just made."""
    if _owner is not None:
        _owner.owns(driver)
    return driver
