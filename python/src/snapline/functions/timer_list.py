"""The state that lists the timers of a key."""

from __future__ import annotations

from snapline.state.descriptors import MapStateDescriptor

#: Of a function with ``lists_timers``: time domain and time of each timer.
TIMER_LIST = MapStateDescriptor[tuple[int, int], bool]("__timers", "struct<domain: int, time: long>", "boolean")
