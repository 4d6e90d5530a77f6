"""A micro-batch of real-time mode in the test harness: rows one by one, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from snapline.state.row import Row
from snapline.testing.collected import Collected
from snapline.testing.exchange import BatchResult
from snapline.testing.micro_batch import MicroBatch


class LiveBatch:
    """The micro-batch of :meth:`KeyedTestHarness.live`: a row is through before the next one is given.

    State is in the harness after each tick and at the end, as it is in Spark's store.

    Args:
        batch: the operator's.
        collected: takes all output.
        in_time: rows that are not late, as tuples.
        tick: takes the clock's next time, in the harness; gives it in ms.
        ended: tells the harness that the micro-batch is over.
    """

    def __init__(
        self,
        batch: MicroBatch,
        collected: Collected,
        in_time: Callable[[Sequence[Any]], list[Any]],
        tick: Callable[[Any], int],
        ended: Callable[[], None],
    ) -> None:
        self._batch = batch
        self._collected = collected
        self._in_time = in_time
        self._tick = tick
        self._ended = ended
        self._is_over = False

    def process(self, *rows: Any) -> list[Row]:
        """Rows that have come (tuples, dicts or Rows); what the function put out for them."""
        for row in self._in_time(rows):
            self._batch.rows([row])
        return self._output()

    def advance_processing_time(self, time: Any) -> list[Row]:
        """A tick: the clock goes on to this time, and its timers that are due fire, without a row."""
        self._batch.tick(self._tick(time))
        return self._output()

    def end(self) -> list[Row]:
        """The end of the micro-batch: timers in event time fire, and the function is closed. The last call."""
        self._is_over = True
        self._batch.fire_timers()
        rows = self._output()
        rows += self._collected.add(self._batch.end())
        self._ended()
        return rows

    def _output(self) -> list[Row]:
        return self._collected.add(BatchResult(self._batch.output()))

    def __enter__(self) -> LiveBatch:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None and not self._is_over:
            self.end()
