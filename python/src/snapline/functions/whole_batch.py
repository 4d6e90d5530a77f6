"""Functions that need a whole micro-batch, which real-time mode does not have before its end."""

from __future__ import annotations

from collections.abc import Iterator


def whole_batch_needs(
    name: str,
    *,
    is_keyed: bool = True,
    has_order: bool = False,
    is_grouped: bool = False,
    has_operator_state: bool = False,
    has_broadcast: bool = False,
) -> Iterator[str]:
    """The reasons for which a function does not run in real-time mode.

    Args:
        name: the function, as the reasons name it.
        has_order: whether it was given ``order_by``.
        is_grouped: whether it gets all rows of a key at once.
    """
    if not is_keyed:
        yield f"{name} has no keys: its partitions would read one after another"
    if has_order:
        yield f"{name} has order_by, for which a micro-batch has to be whole"
    if is_grouped:
        yield f"{name} gets the rows of a key together (process_batch), for which a micro-batch has to be whole"
    if has_operator_state:
        yield f"{name} has operator state"
    if has_broadcast:
        yield f"{name} has a broadcast stream, which has to be whole before the rows"
