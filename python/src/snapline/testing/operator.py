"""The operator without Spark: the other side of the worker's exchange, in Python, over any store and link.

It keeps the order of docs/notes/003-keyed-process.md, holds the worker to it, and is small enough to be read beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql.types import StructType

from snapline.functions.context import EVENT, PROCESSING
from snapline.state.cursor import NEVER, BatchTime
from snapline.testing.bounds import Bounds
from snapline.testing.broadcasting import broadcast_chunks
from snapline.testing.chunks import Chunk, RowChunks, keys_of
from snapline.testing.exchange import TIMERS, BatchResult, Exchange
from snapline.testing.links import Link
from snapline.testing.operator_states import StoredOperatorStates
from snapline.testing.schemas import exchange_schemas
from snapline.testing.states import StoredState
from snapline.testing.store import Store
from snapline.worker.frames import KEYS_PART, PROTOCOL, Frame, ToWorker
from snapline.worker.job import Job


class Operator:
    """Runs micro-batches: rows, then due timers, then clean-up."""

    def __init__(
        self,
        job: Job,
        rows: StructType,
        result: StructType,
        store: Store,
        zone: str,
        bounds: Bounds,
        *,
        broadcast: StructType | None = None,
        partition: int = 0,
        partitions: int = 1,
    ) -> None:
        self._job = job
        self.store = store
        self._partition = partition
        self._partitions = partitions
        self._zone = zone
        self._bounds = bounds
        plan = job.plan
        self.schemas = exchange_schemas(
            rows,
            job.key_names,
            result,
            plan.states,
            mode=plan.mode,
            zone=zone,
            operator_states=plan.operator_states,
            broadcast=broadcast,
        )
        self.operator_states = StoredOperatorStates(plan.operator_states, self.schemas, store, bounds.page_rows)
        self.states = [
            StoredState(i, spec, self.schemas, store, bounds.max_prefetch) for i, spec in enumerate(plan.states)
        ]
        self._batch_id = 0

    def run_batch(
        self,
        rows: Sequence[Any],
        time: BatchTime,
        link: Callable[[Callable[[Frame], Frame | None]], Link],
        broadcast: Sequence[Any] = (),
        *,
        fires_timers: bool = True,
    ) -> BatchResult:
        """One micro-batch, through a worker of its own.

        Args:
            rows: the rows, as tuples.
            time: the time of the batch; all timers of a bounded one are due.
            link: makes the link, given the function that answers a FETCH.
            broadcast: rows of the broadcast stream, in the order of all partitions.
            fires_timers: False: timers that are due stay, as after the rows of an initial state.
        """
        is_keyed = self._job.plan.kind.is_keyed
        if not is_keyed and not rows and not broadcast and not self.operator_states.is_first:
            return BatchResult()
        self._delete_states()
        exchange = Exchange(self.schemas, self.states, self.store, self._bounds, self.operator_states)
        exchange.link = link(exchange.answer)
        exchange.link.send(self._setup(time))
        exchange.run(self.operator_states.frames())
        exchange.run(broadcast_chunks(broadcast, self.schemas, self._bounds.chunk_rows))
        exchange.run(RowChunks(self._job, self.schemas, self.states, self._bounds, exchange.held).of(rows))
        due = (NEVER, NEVER) if time.is_bounded else (time.watermark, time.processing)
        while fires_timers and any(self._fire(exchange, domain, due) for domain in (EVENT, PROCESSING)):
            pass
        result = exchange.end()
        self.operator_states.mark()
        if not time.is_bounded:
            for state in self.states:
                state.clean_up(time)
        self._batch_id += 1
        return result

    def _delete_states(self) -> None:
        for name in self._job.plan.deleted:
            for family in (name, f"$ttl_{name}"):
                for key, _ in list(self.store.items(family)):
                    self.store.delete(family, key)

    def _setup(self, time: BatchTime) -> Frame:
        meta = {
            "protocol": PROTOCOL,
            "mode": self._job.plan.mode,
            "batch_id": self._batch_id,
            "query_id": None if time.is_bounded else "harness",
            "batch_time_ms": time.processing,
            "watermark_ms": time.watermark,
            "rows_watermark_ms": time.before_rows,
            "partition": self._partition,
            "partitions": self._partitions,
            "time_zone": self._zone,
            "streaming": not time.is_bounded,
            "max_prefetch": self._bounds.max_prefetch,
            "chunk_bytes": self._bounds.chunk_bytes,
            "time_left_ms": None,
        }
        return Frame(ToWorker.SETUP, meta, {part: schema.serialize() for part, schema in self.schemas.items()})

    def key_of(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """A key as the store has it."""
        (key,) = keys_of(self.schemas[KEYS_PART], [[value] for value in values])
        return key  # type: ignore[no-any-return]

    def timers(self) -> list[tuple[int, int, Any]]:
        """Those in the store, in order: time, domain, key."""
        return sorted((key for key, _ in self.store.items(TIMERS)), key=lambda timer: (timer[0], timer[1], repr(timer)))

    def _fire(self, exchange: Exchange, domain: int, due: tuple[int | None, int | None]) -> bool:
        """Rounds of the due timers of one domain, the earliest first, until there are none; whether there were any."""
        limit = due[domain]
        has_fired = False
        while limit is not None:
            found = [timer for timer in self.timers() if timer[1] == domain and timer[0] <= limit]
            if not found:
                break
            taken, left = found[: self._bounds.chunk_rows], found[self._bounds.chunk_rows :]
            # Some timers of one time may be left: up to here the store has none any more.
            through = min(taken[-1][0], left[0][0] - 1) if left else taken[-1][0]
            for timer in taken:
                self.store.delete(TIMERS, timer)
            exchange.run([Chunk.of_timers(self._job, self.schemas, self.states, taken, through, due)])
            has_fired = True
        return has_fired
