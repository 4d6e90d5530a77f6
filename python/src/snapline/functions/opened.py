"""The part that all functions of windows and of two inputs have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snapline.functions.context import RuntimeContext


class Opened:
    """A function that is opened once per task and micro-batch, and once on the driver when the query is planned."""

    def open(self, ctx: RuntimeContext) -> None:
        """Asks for metrics, and with a key for states."""

    def close(self) -> None:
        """Gives back what ``open`` took."""
