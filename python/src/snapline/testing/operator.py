"""The operator without Spark: the other side of the worker's exchange, in Python, over any store and link.

It keeps the order of docs/notes/003-keyed-process.md, holds the worker to it, and is small enough to be read beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import StructType

from snapline.state.cursor import BatchTime
from snapline.testing.bounds import Bounds
from snapline.testing.chunks import keys_of
from snapline.testing.exchange import BatchResult
from snapline.testing.micro_batch import MakeLink, MicroBatch, Parts, timers_of
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
        self._parts = Parts(job, self.schemas, self.states, self.operator_states, store, bounds)
        self._batch_id = 0

    def run_batch(
        self,
        rows: Sequence[Any],
        time: BatchTime,
        link: MakeLink,
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
        batch = self.begin(time, link)
        batch.broadcast(broadcast)
        batch.rows(rows)
        if fires_timers:
            batch.fire_timers()
        return batch.end()

    def begin(self, time: BatchTime, link: MakeLink, *, is_live: bool = False) -> MicroBatch:
        """A micro-batch that the caller drives; arguments as those of :meth:`run_batch`."""
        self._delete_states()
        setup = self._setup(time)
        self._batch_id += 1
        return MicroBatch(self._parts, time, link, setup, is_live=is_live)

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
            "running_batch_id": self._batch_id,
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
        return timers_of(self.store)
