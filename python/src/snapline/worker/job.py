"""Everything a task needs to know beyond the SETUP frame; pickled on the driver."""

from __future__ import annotations

from dataclasses import dataclass

from snapline.functions.plan import FunctionPlan


@dataclass(frozen=True)
class Job:
    """One keyed process function, planned.

    Attributes:
        plan: the function.
        key_names: the key's columns.
        input_columns: the columns of the rows.
        columns: the columns of the result, without those of the side outputs.
        side_outputs: the names of the tags that the function may emit to.
        event_time: the column that ``ctx.timestamp()`` shows, if there is one.
        broadcast_columns: the columns of the broadcast stream's rows.
    """

    plan: FunctionPlan
    key_names: tuple[str, ...]
    input_columns: tuple[str, ...]
    columns: tuple[str, ...]
    side_outputs: tuple[str, ...]
    event_time: str | None
    broadcast_columns: tuple[str, ...] = ()
