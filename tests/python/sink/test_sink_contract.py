from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from snapline.sink import Marker, TransactionalSink
from snapline.testing import SinkContract

from .ledger import Ledger, rows_of


class TestLedger(SinkContract):
    @pytest.fixture(autouse=True)
    def _made(self, tmp_path: Path) -> None:
        self.path = str(tmp_path / "ledger.db")
        self.made = Ledger.made(self.path)

    def sink(self) -> TransactionalSink:
        return Ledger(self.path)

    def rows(self) -> Iterable[tuple[int, int]]:
        return rows_of(self.path)


class _CommitsAtOnce(Ledger):
    """Rows are there before the marker is."""

    def write(self, rows: Any) -> None:
        super().write(rows)
        self.db.execute("commit")
        self.db.execute("begin immediate")


class _ForgetsTheMarker(Ledger):
    def commit(self, marker: Marker) -> None:
        self.db.execute("commit")


class _FencesNobody(Ledger):
    """It reads the marker, and takes no lock before the first row."""

    def last_marker(self) -> Marker | None:
        found = super().last_marker()
        self.db.execute("rollback")
        return found

    def begin(self) -> None:
        self._rows: list[Any] = []

    def write(self, rows: Any) -> None:
        self._rows.append(rows)

    def commit(self, marker: Marker) -> None:
        self.db.execute("begin immediate")
        for rows in self._rows:
            super().write(rows)
        super().commit(marker)


@pytest.mark.parametrize(
    ("wrong", "found_by"),
    [
        (_CommitsAtOnce, "test_an_attempt_that_fails_between_two_calls_leaves_no_row"),
        (_CommitsAtOnce, "test_an_attempt_whose_process_dies_between_two_calls_leaves_no_row"),
        (_ForgetsTheMarker, "test_rows_and_marker_are_there_together"),
        (_ForgetsTheMarker, "test_a_batch_that_comes_again_is_passed_over"),
        (_ForgetsTheMarker, "test_an_attempt_that_dies_after_its_commit_is_not_repeated"),
        (_FencesNobody, "test_of_two_attempts_at_once_one_writes"),
    ],
)
def test_a_sink_that_breaks_a_promise_is_found(wrong: type[Ledger], found_by: str, tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    Ledger.made(path)

    class Contract(SinkContract):
        def sink(self) -> TransactionalSink:
            return wrong(path)

        def rows(self) -> Iterable[tuple[int, int]]:
            return rows_of(path)

    with pytest.raises(AssertionError):
        getattr(Contract(), found_by)()
