"""Windows over keyed streams: assigners, triggers, evictors and functions, under the names that Flink has for them."""

from snapline.window.assigner import MergeCallback, MergingWindowAssigner, WindowAssigner, WindowAssignerContext
from snapline.window.count_triggers import CountTrigger, NeverTrigger, PurgingTrigger
from snapline.window.counting import CountSlidingWindowAssigner, CountTumblingWindowAssigner, GlobalWindows
from snapline.window.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    EvictorContext,
    TimeEvictor,
    TimestampedValue,
)
from snapline.window.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowContext,
    WindowFunction,
)
from snapline.window.sessions import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from snapline.window.stores import KeyedStateStore
from snapline.window.time_assigners import (
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from snapline.window.time_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
)
from snapline.window.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from snapline.window.windows import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "AllWindowFunction",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CumulativeEventTimeWindows",
    "CumulativeProcessingTimeWindows",
    "DeltaEvictor",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "EvictorContext",
    "GlobalWindow",
    "GlobalWindows",
    "KeyedStateStore",
    "MergeCallback",
    "MergingWindowAssigner",
    "NeverTrigger",
    "OnMergeContext",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimestampedValue",
    "Trigger",
    "TriggerContext",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowAssignerContext",
    "WindowContext",
    "WindowFunction",
]
