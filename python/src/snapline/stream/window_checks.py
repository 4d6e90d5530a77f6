"""Checks of windows before a query starts."""

from __future__ import annotations

from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.process import check_synchronous_methods
from snapline.window.assigner import MergingWindowAssigner, WindowAssigner
from snapline.window.count_triggers import CountTrigger, NeverTrigger, PurgingTrigger
from snapline.window.evictors import Evictor
from snapline.window.time_triggers import ContinuousProcessingTimeTrigger
from snapline.window.trigger import Trigger
from snapline.window.windows import GlobalWindow


def check_windows(assigner: WindowAssigner[Any], event_time: str | None) -> None:
    """
    Raises:
        InvalidConfiguration: it is no assigner, or its windows go by a time that rows do not have.
    """
    if not isinstance(assigner, WindowAssigner):
        what = "the class itself" if isinstance(assigner, type) else "no window assigner"
        raise InvalidConfiguration(
            f"window({assigner!r}), {what}.",
            "give one, as snapline.window.TumblingEventTimeWindows.of(timedelta(...)).",
        )
    if assigner.is_event_time() and event_time is None:
        raise InvalidConfiguration(
            f"{assigner!r} goes by the time of the rows, and no column is that.",
            'give the DataFrame a watermark before key_by: withWatermark("time", "1 minute"); or take windows in '
            "processing time.",
        )


def check_trigger(
    trigger: Trigger, assigner: WindowAssigner[Any], *, keeps_rows: bool = False, evictor: Evictor | None = None
) -> None:
    """
    Args:
        trigger: the trigger of the assigner's windows.
        assigner: the assigner.
        keeps_rows: whether rows are kept, and not an aggregate of them; with an evictor they are.
        evictor: says which of the rows stay; None: all do.

    Raises:
        InvalidConfiguration: it is no trigger, or cannot do with the windows; or it never clears one that never ends.
    """
    if not isinstance(trigger, Trigger):
        raise InvalidConfiguration(f"the trigger {trigger!r}.", "give one, as CountTrigger.of(10).")
    if isinstance(assigner, MergingWindowAssigner) and not trigger.can_merge():
        raise InvalidConfiguration(
            f"the trigger {type(trigger).__name__} over {assigner!r}, whose windows merge.",
            "give the trigger can_merge() and on_merge(), or take another.",
        )
    innermost = trigger
    while isinstance(innermost, PurgingTrigger):
        innermost = innermost.nested
    if isinstance(innermost, NeverTrigger):
        raise InvalidConfiguration(
            f"{assigner!r} with a trigger that never fires.", "name one: .trigger(CountTrigger.of(10)), for instance."
        )
    never_ends = issubclass(assigner.window_type, GlobalWindow)
    purges = not isinstance(trigger, (CountTrigger, ContinuousProcessingTimeTrigger))
    is_bounded = not keeps_rows if evictor is None else evictor.is_bounded()
    if never_ends and not purges and not is_bounded:
        name, kept = type(trigger).__name__, "" if evictor is None else f" and {type(evictor).__name__}"
        raise InvalidConfiguration(
            f"{assigner!r} with {name}{kept}: the window never ends, and its rows would be kept for ever.",
            f"give PurgingTrigger.of({name}(...)), CountEvictor.of(...) or another evictor whose is_bounded() is true, "
            "or an aggregate.",
        )


def check_function(function: Any, bases: tuple[type[Any], ...]) -> None:
    """
    Raises:
        InvalidConfiguration: it is no function of a window.
    """
    if not isinstance(function, bases):
        what = "the class itself" if isinstance(function, type) else "no function of such a window"
        raise InvalidConfiguration(
            f"{function!r}, {what}.", f"give an object of a subclass of {' or '.join(base.__name__ for base in bases)}."
        )
    check_synchronous_methods(function, ("open", "close", "process", "apply", "clear"))
