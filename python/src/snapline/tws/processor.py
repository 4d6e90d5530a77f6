"""A StatefulProcessor as a keyed function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, get_args

from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, TimerValues

from snapline.errors import InvalidConfiguration
from snapline.functions.context import Context, RuntimeContext
from snapline.functions.process import KeyedProcessFunction, check_synchronous_methods
from snapline.state.cursor import BEFORE_ALL
from snapline.tws.handle import SparkHandle, TimeMode

_METHODS = ("init", "close", "handleInputRows", "handleExpiredTimer", "handleInitialState")
_MODES: dict[str, TimeMode] = {mode.lower(): mode for mode in get_args(TimeMode)}


def function_of(processor: StatefulProcessor, timeMode: str, *, pandas: bool = False) -> KeyedProcessFunction:
    """The keyed function that calls a processor, for ``KeyedStream.process`` and the test harness.

    Args:
        processor: an object of a subclass of Spark's StatefulProcessor.
        timeMode: ``None``, ``ProcessingTime`` or ``EventTime``, in any case.
        pandas: whether it takes and gives pandas frames, as of transformWithStateInPandas; else rows.

    Raises:
        InvalidConfiguration: it is no such object, or there is no such mode.
    """
    if not isinstance(processor, StatefulProcessor):
        raise InvalidConfiguration(
            f"{processor!r}, no StatefulProcessor.",
            "give an object of a subclass of pyspark.sql.streaming.StatefulProcessor.",
        )
    mode = _MODES.get(str(timeMode).lower())
    if mode is None:
        raise InvalidConfiguration(f"the time mode {timeMode!r}.", f"give one of {', '.join(_MODES.values())}.")
    check_synchronous_methods(processor, _METHODS)
    return _Processing(processor, mode, pandas)


class _Calls(KeyedProcessFunction):
    """Opens and closes a processor, and tells it the times."""

    def __init__(self, processor: StatefulProcessor, mode: TimeMode, pandas: bool) -> None:
        self._processor = processor
        self._mode = mode
        self._pandas = pandas
        self._shown_as = type(processor).__name__
        # Spark drops late rows in event time alone.
        self.takes_late_rows = mode != "EventTime"  # type: ignore[misc]
        self.lists_timers = mode != "None" and _mentions(type(processor), "listTimers")  # type: ignore[misc]

    def open(self, ctx: RuntimeContext) -> None:
        self._handle = SparkHandle(ctx, self._mode)
        self._processor.init(self._handle)  # type: ignore[arg-type]

    def close(self) -> None:
        self._processor.close()

    def _times(self, ctx: Context) -> TimerValues:
        timers = self._handle.timers = ctx.timer_service()
        if self._mode == "None":
            return TimerValues(-1, -1)
        watermark = timers.current_watermark()
        return TimerValues(timers.current_processing_time(), 0 if watermark == BEFORE_ALL else watermark)


class _Processing(_Calls):
    """Hands the processor the rows of a key in a micro-batch, and its timers."""

    def __init__(self, processor: StatefulProcessor, mode: TimeMode, pandas: bool) -> None:
        super().__init__(processor, mode, pandas)
        self.batch_type = "pandas" if pandas else "rows"  # type: ignore[misc]

    def process_batch(self, key: Any, batch: Any, ctx: Context) -> Iterable[Any] | None:
        rows: Iterator[Any] = iter([batch] if self._pandas else batch)
        return self._processor.handleInputRows(_tuple(key), rows, self._times(ctx))

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[Any]:
        handle, times = self._handle, self._times(ctx)
        handle.expired = timestamp
        try:
            expired = ExpiredTimerInfo(timestamp)
            yield from self._processor.handleExpiredTimer(_tuple(ctx.get_current_key()), times, expired) or ()
        finally:
            handle.expired = None

    def _initial_state_function(self) -> KeyedProcessFunction:
        kind = _InitialFrames if self._pandas else _InitialRows
        return kind(self._processor, self._mode, self._pandas)


class _InitialRows(_Calls):
    """Hands the processor each row of the initial state."""

    def process_element(self, row: Any, ctx: Context) -> None:
        self._processor.handleInitialState(_tuple(ctx.get_current_key()), row, self._times(ctx))


class _InitialFrames(_Calls):
    """Hands the processor the initial state of each key as a frame of pandas."""

    batch_type = "pandas"

    def process_batch(self, key: Any, batch: Any, ctx: Context) -> None:
        self._processor.handleInitialState(_tuple(key), batch, self._times(ctx))


def _tuple(key: Any) -> tuple[Any, ...]:
    """Spark gives a key as a tuple, also one of a single column."""
    return key if isinstance(key, tuple) else (key,)


def _mentions(kind: type[Any], name: str) -> bool:
    """Whether a method of the class has this name in its code."""
    functions = [each for base in kind.__mro__ if base is not StatefulProcessor for each in vars(base).values()]
    return any(_code_mentions(each.__code__, name) for each in functions if isinstance(each, FunctionType))


def _code_mentions(code: CodeType, name: str) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return name in code.co_names or any(_code_mentions(each, name) for each in inner)
