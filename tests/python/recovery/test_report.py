from __future__ import annotations

from snapline.query import RecoveryReport


def test_says_what_was_rebuilt_and_what_may_count_twice() -> None:
    exact = RecoveryReport(checkpoint=12, batch=118, replayed=range(119, 125), stores=8)
    assert str(exact) == "Recovered from checkpoint 12, the state after batch 118: 6 batches replayed."
    ahead = RecoveryReport(12, 118, range(119, 125), stores=8, ahead=3, rows_twice=81920)
    assert str(ahead).startswith(str(exact))
    assert "3 of 8 snapshots" in str(ahead)
    assert "up to 81920 rows may count twice" in str(ahead)
    assert str(RecoveryReport(0, 4, range(5, 6))).startswith("Recovered from what was durable, the state after batch 4")
