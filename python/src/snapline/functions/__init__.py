"""Functions of keyed streams, as users write them."""

from snapline.functions.arrow_state import ArrowState
from snapline.functions.async_function import AsyncFunction, AsyncRetryStrategy
from snapline.functions.broadcast import BroadcastContext, KeyedBroadcastProcessFunction, ReadOnlyContext
from snapline.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    OperatorStateStore,
)
from snapline.functions.context import Context, RuntimeContext, TimerService
from snapline.functions.errors import FunctionFailed
from snapline.functions.idempotency import idempotency_key
from snapline.functions.join import JoinContext, ProcessJoinFunction
from snapline.functions.metrics import Counter, MetricGroup
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.functions.rich import FilterFunction, FlatMapFunction, MapFunction
from snapline.functions.two_inputs import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from snapline.functions.unkeyed import BroadcastProcessFunction, ProcessFunction

__all__ = [
    "ArrowState",
    "AsyncFunction",
    "AsyncRetryStrategy",
    "BroadcastContext",
    "BroadcastProcessFunction",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "Context",
    "Counter",
    "FilterFunction",
    "FlatMapFunction",
    "FunctionFailed",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "JoinContext",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "MapFunction",
    "MetricGroup",
    "OperatorStateStore",
    "OutputTag",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ReadOnlyContext",
    "RuntimeContext",
    "TimerService",
    "idempotency_key",
]
