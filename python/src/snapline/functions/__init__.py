"""Functions of keyed streams, as users write them."""

from snapline.functions.arrow_state import ArrowState
from snapline.functions.context import Context, RuntimeContext, TimerService
from snapline.functions.errors import FunctionFailed
from snapline.functions.metrics import Counter, MetricGroup
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction

__all__ = [
    "ArrowState",
    "Context",
    "Counter",
    "FunctionFailed",
    "KeyedProcessFunction",
    "MetricGroup",
    "OutputTag",
    "RuntimeContext",
    "TimerService",
]
