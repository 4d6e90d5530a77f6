"""The state that lists the timers of a key."""

from __future__ import annotations

from snapline.state.descriptors import MapStateDescriptor

#: Has the time domain and the time of each timer of a key, in a function with ``lists_timers``.
TIMER_LIST = MapStateDescriptor[tuple[int, int], bool]("__timers", "struct<domain: int, time: long>", "boolean")
