"""Flink's state and checkpoint model for Spark Structured Streaming."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from snapline._version import __version__
from snapline.errors import SnaplineError
from snapline.jar import jar_path
from snapline.session import configure
from snapline.settings.backends import (
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    StateBackendConfig,
)

if TYPE_CHECKING:
    from snapline import inspect as inspect
    from snapline import pattern as pattern
    from snapline import testing as testing
    from snapline import tws as tws
    from snapline import window as window
    from snapline.functions import (
        ArrowState,
        AsyncFunction,
        AsyncRetryStrategy,
        BroadcastContext,
        BroadcastProcessFunction,
        CheckpointedFunction,
        CoFlatMapFunction,
        CoMapFunction,
        Context,
        CoProcessFunction,
        FilterFunction,
        FlatMapFunction,
        FunctionFailed,
        FunctionInitializationContext,
        FunctionSnapshotContext,
        JoinContext,
        KeyedBroadcastProcessFunction,
        KeyedCoProcessFunction,
        KeyedProcessFunction,
        MapFunction,
        OperatorStateStore,
        OutputTag,
        ProcessFunction,
        ProcessJoinFunction,
        ReadOnlyContext,
        RuntimeContext,
        TimerService,
        idempotency_key,
    )
    from snapline.query import (
        CheckpointConfig,
        CheckpointingMode,
        CheckpointListener,
        ExponentialDelayRestart,
        FailureRateRestart,
        FixedDelayRestart,
        NoRestart,
        RecoveryReport,
        SupervisedQuery,
        start,
    )
    from snapline.savepoint import (
        create_savepoint,
        export_savepoint,
        read_state,
        rescale_checkpoint,
        restore_savepoint,
        write_savepoint,
    )
    from snapline.sink import Marker, SinkPartition, TransactionalSink, exactly_once, once, write_batches
    from snapline.state import (
        PICKLED,
        AggregateFunction,
        AggregatingState,
        AggregatingStateDescriptor,
        BroadcastState,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        OperatorListState,
        RawStateOutput,
        ReadOnlyBroadcastState,
        ReduceFunction,
        ReducingState,
        ReducingStateDescriptor,
        Row,
        StateTtlConfig,
        StateVisibility,
        TtlTime,
        UpdateType,
        ValueState,
        ValueStateDescriptor,
    )
    from snapline.stream import (
        AllWindowedStream,
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
        KeyedStream,
        WindowedStream,
        async_process,
        broadcast,
        connect,
        each_output,
        key_by,
        main_output,
        side_output,
        window_all,
    )

    # From its module, which has its name: through the room, mypy takes the one for the other.
    from snapline.stream.process import process
    from snapline.tws import transform_with_state, transform_with_state_in_pandas

__all__ = [
    "PICKLED",
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowedStream",
    "ArrowState",
    "AsyncFunction",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastContext",
    "BroadcastProcessFunction",
    "BroadcastState",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointListener",
    "CheckpointedFunction",
    "CheckpointingMode",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "Context",
    "EmbeddedRocksDBStateBackend",
    "ExponentialDelayRestart",
    "FailureRateRestart",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FixedDelayRestart",
    "FlatMapFunction",
    "FunctionFailed",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "JoinContext",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "ListState",
    "ListStateDescriptor",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "Marker",
    "NoRestart",
    "OperatorListState",
    "OperatorStateStore",
    "OutputTag",
    "ProcessFunction",
    "ProcessJoinFunction",
    "RawStateOutput",
    "ReadOnlyBroadcastState",
    "ReadOnlyContext",
    "RecoveryReport",
    "ReduceFunction",
    "ReducingState",
    "ReducingStateDescriptor",
    "Row",
    "RuntimeContext",
    "SinkPartition",
    "SnaplineError",
    "StateBackendConfig",
    "StateTtlConfig",
    "StateVisibility",
    "SupervisedQuery",
    "TimerService",
    "TransactionalSink",
    "TtlTime",
    "UpdateType",
    "ValueState",
    "ValueStateDescriptor",
    "WindowedStream",
    "__version__",
    "async_process",
    "broadcast",
    "configure",
    "connect",
    "create_savepoint",
    "each_output",
    "exactly_once",
    "export_savepoint",
    "idempotency_key",
    "jar_path",
    "key_by",
    "main_output",
    "once",
    "process",
    "read_state",
    "rescale_checkpoint",
    "restore_savepoint",
    "side_output",
    "start",
    "transform_with_state",
    "transform_with_state_in_pandas",
    "window_all",
    "write_batches",
    "write_savepoint",
]


# Rooms that are used by their own names, as in `snapline.inspect.open(path)`. They are not in __all__: Python has an
# `inspect` too.
_ROOMS = ("inspect", "pattern", "testing", "tws", "window")


def __getattr__(name: str) -> Any:
    # Keyed state needs pyspark and pyarrow; the command line and configure() must start, and complain, without them.
    if name in _ROOMS:
        return import_module(f"snapline.{name}")
    if name in __all__:
        for room in ("state", "functions", "stream", "query", "savepoint", "sink", "tws"):
            module = import_module(f"snapline.{room}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module 'snapline' has no attribute {name!r}")


def __dir__() -> list[str]:
    # Notebooks complete these names.
    return sorted({*globals(), *__all__, *_ROOMS})
