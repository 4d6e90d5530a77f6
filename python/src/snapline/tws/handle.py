"""The handle that a StatefulProcessor is given."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.context import RuntimeContext, TimerService
from snapline.state.ddl import parse_schema
from snapline.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from snapline.state.ttl import StateTtlConfig
from snapline.tws.states import SparkListState, SparkMapState, SparkValueState

TimeMode = Literal["None", "ProcessingTime", "EventTime"]
Schema = str | StructType


class SparkHandle:
    """Gives states in ``init``, and timers of the current key afterwards; the methods are those of Spark's handle."""

    def __init__(self, ctx: RuntimeContext, mode: TimeMode) -> None:
        self._ctx = ctx
        self._mode = mode
        #: The timers, once a method with rows or a timer was called.
        self.timers: TimerService | None = None
        #: The timer that is being handled: it is gone afterwards, even if it is set again meanwhile.
        self.expired: int | None = None

    def getValueState(
        self,
        stateName: str,
        schema: Schema,
        ttlDurationMs: int | None = None,
    ) -> SparkValueState:
        """A value per key."""
        kind = _struct(stateName, schema)
        descriptor = ValueStateDescriptor(stateName, kind, ttl=self._ttl(stateName, ttlDurationMs))
        return SparkValueState(self._ctx.get_state(descriptor))

    def getListState(
        self,
        stateName: str,
        schema: Schema,
        ttlDurationMs: int | None = None,
    ) -> SparkListState:
        """A list per key."""
        kind = _struct(stateName, schema)
        descriptor = ListStateDescriptor(stateName, kind, ttl=self._ttl(stateName, ttlDurationMs))
        return SparkListState(self._ctx.get_list_state(descriptor))

    def getMapState(
        self,
        stateName: str,
        userKeySchema: Schema,
        valueSchema: Schema,
        ttlDurationMs: int | None = None,
    ) -> SparkMapState:
        """A map per key."""
        descriptor = MapStateDescriptor(
            stateName,
            _struct(stateName, userKeySchema),
            _struct(stateName, valueSchema),
            ttl=self._ttl(stateName, ttlDurationMs),
        )
        return SparkMapState(self._ctx.get_map_state(descriptor))

    def _ttl(self, name: str, millis: int | None) -> StateTtlConfig | None:
        if millis is None:
            return None
        if self._mode != "ProcessingTime":
            raise InvalidConfiguration(
                f"state {name} has a time to live, and the time mode is {self._mode}.",
                'give timeMode="ProcessingTime", as Spark wants it.',
            )
        return StateTtlConfig(timedelta(milliseconds=millis))

    def registerTimer(self, expiryTimestampMs: int) -> None:
        """Sets a timer of the current key, in the clock of the time mode."""
        timers = self._timers("registerTimer")
        if expiryTimestampMs == self.expired:
            return
        if self._mode == "EventTime":
            timers.register_event_time_timer(expiryTimestampMs)
        else:
            timers.register_processing_time_timer(expiryTimestampMs)

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        """Takes back a timer of the current key."""
        timers = self._timers("deleteTimer")
        if self._mode == "EventTime":
            timers.delete_event_time_timer(expiryTimestampMs)
        else:
            timers.delete_processing_time_timer(expiryTimestampMs)

    def listTimers(self) -> Iterator[int]:
        """The times of the current key's timers, in order; the one that is being handled is among them."""
        timers = self._timers("listTimers")
        times = timers.list_timers("event" if self._mode == "EventTime" else "processing")
        return iter(times if self.expired is None else sorted({*times, self.expired}))

    def deleteIfExists(self, stateName: str) -> None:
        """Removes a state that an earlier version of the processor asked for."""
        self._ctx.delete_if_exists(stateName)

    def _timers(self, call: str) -> TimerService:
        if self._mode == "None":
            raise InvalidConfiguration(
                f"{call}() in the time mode None.", 'give timeMode="ProcessingTime" or "EventTime".'
            )
        if self.timers is None:
            raise InvalidConfiguration(f"{call}() in init(), where there is no key.", "call it where rows are handled.")
        return self.timers


def _struct(name: str, schema: Schema) -> StructType:
    return parse_schema(schema, f"the schema of state {name}")
