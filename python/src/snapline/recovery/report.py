"""The state that a start had to rebuild."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RecoveryReport:
    """A recovery that has ended.

    Attributes:
        checkpoint: its number; 0 or less: none, the state that was durable by itself.
        batch: whose state it began with; -1: the empty state.
        replayed: the batches that were run again, without output.
        stores: how many snapshots the checkpoint has, and ``ahead``: how many of them hold later batches than its own,
            which only those taken ``AT_LEAST_ONCE`` do.
        rows_twice: how many input rows may count twice, at most: all of the batches that were run again and that some
            snapshot held already. After a recovery that was cut short, of those batches that it still had to run.
    """

    checkpoint: int
    batch: int
    replayed: range
    stores: int = 0
    ahead: int = 0
    rows_twice: int = 0

    def __str__(self) -> str:
        base = f"checkpoint {self.checkpoint}" if self.checkpoint > 0 else "what was durable"
        text = f"Recovered from {base}, the state after batch {self.batch}: {len(self.replayed)} batches replayed."
        if not self.ahead:
            return text
        return (
            f"{text} {self.ahead} of {self.stores} snapshots held some of these already (AT_LEAST_ONCE): up to "
            f"{self.rows_twice} rows may count twice."
        )
