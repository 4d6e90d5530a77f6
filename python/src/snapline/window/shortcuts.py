"""Shortcuts of triggers and assigners: what a class says of its methods, so that the operator has less to do.

A subclass inherits what its base says, and may override the methods that the base speaks of. The operator therefore
believes a class only where no class below it overrides one of them, and takes the general way otherwise.
"""

from __future__ import annotations

from typing import Any

from snapline.window.assigner import MergingWindowAssigner, WindowAssigner
from snapline.window.trigger import Rest, Timers, Trigger

_CALLS = ("on_element", "on_processing_time", "on_event_time", "on_merge")


def timers_of(trigger: Trigger) -> Timers:
    """The timers that a trigger sets."""
    return trigger.timers if _holds(trigger, "timers", *_CALLS) else "any"


def rest_of(trigger: Trigger) -> Rest | None:
    """When a trigger has nothing to do with a row that is not the first of its window.

    Such a row may make a session longer, which calls ``on_merge``, and ``clear`` of the windows that have merged.
    """
    return trigger.rests if _holds(trigger, "rests", "on_element", "on_merge", "clear") else None


def trigger_has_state(trigger: Trigger) -> bool:
    """Whether a trigger may ask for state."""
    return trigger.has_state or not _holds(trigger, "has_state", *_CALLS, "clear")


def assigner_has_state(assigner: WindowAssigner[Any]) -> bool:
    """Whether an assigner may ask for state of the key."""
    return assigner.has_state or not _holds(assigner, "has_state", "assign_windows")


def knows_ends(assigner: WindowAssigner[Any]) -> bool:
    """Whether an assigner knows its windows by their end."""
    return _holds(assigner, "window_that_ends", "assign_windows")


def merges_spans(assigner: MergingWindowAssigner[Any]) -> bool:
    """Whether time windows that overlap or touch become one, and no others do."""
    return assigner.merges_spans and _holds(assigner, "merges_spans", "merge_windows")


def _holds(of: object, shortcut: str, *methods: str) -> bool:
    """Whether the class that says so is the one that defines these methods, or is below it."""
    for kind in type(of).__mro__:
        if shortcut in vars(kind):
            return True
        if not vars(kind).keys().isdisjoint(methods):
            return False
    return False
