"""Asynchronous calls: a function of each row that waits for others, many rows at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.async_function import AsyncFunction, AsyncRetryStrategy
from snapline.functions.context import Context, RuntimeContext
from snapline.functions.idempotency import RowKeys
from snapline.functions.process import check_synchronous_methods
from snapline.functions.unkeyed import ProcessFunction
from snapline.stream.process import process
from snapline.window.span import Span, millis_of
from snapline.worker.calls import failed
from snapline.worker.decode import row_decoder


def async_process(
    df: DataFrame,
    function: AsyncFunction,
    schema: str | StructType,
    *,
    timeout: Span,
    capacity: int = 100,
    ordered: bool = True,
    retry: AsyncRetryStrategy | None = None,
    uid: str | None = None,
) -> DataFrame:
    """Calls an asynchronous function with each row, where the row is: nothing is shuffled.

    Args:
        df: the rows, streaming or not.
        function: pickled as it is, before ``open``.
        schema: the columns of what it gives.
        timeout: how long a row may take, retries included; then ``function.timeout`` says what becomes of it.
        capacity: how many rows of a partition are under way at most.
        ordered: the output has the order of the rows; otherwise that in which calls end.
        retry: says which calls are made again, and when.
        uid: as of :func:`process`.

    Raises:
        InvalidConfiguration: the function or an argument cannot be.
    """
    return process(df, async_function(function, timeout, capacity, ordered, retry), schema, uid=uid)


def async_function(
    function: AsyncFunction, timeout: Span, capacity: int, ordered: bool, retry: AsyncRetryStrategy | None
) -> ProcessFunction:
    """The process function that makes the calls; arguments as of :func:`async_process`.

    Raises:
        InvalidConfiguration: one cannot be.
    """
    if not isinstance(function, AsyncFunction):
        what = "the class itself" if isinstance(function, type) else "no AsyncFunction"
        raise InvalidConfiguration(f"{function!r}, {what}.", "give an object of a subclass of snapline.AsyncFunction.")
    if not asyncio.iscoroutinefunction(function.async_invoke):
        raise InvalidConfiguration(
            f"{type(function).__name__}.async_invoke is no coroutine.", "write `async def async_invoke`."
        )
    check_synchronous_methods(function, ("open", "close", "timeout"))
    if type(capacity) is not int or capacity < 1:
        raise InvalidConfiguration(f"a capacity of {capacity!r}.", "give a whole number from 1 on.")
    if retry is not None and not isinstance(retry, AsyncRetryStrategy):
        raise InvalidConfiguration(
            f"the retry strategy {retry!r}.", "give AsyncRetryStrategy.fixed_delay(3, 100, ...)."
        )
    return _Calls(function, _Bounds(millis_of(timeout, "the timeout") / 1000, capacity, ordered, retry))


@dataclass(frozen=True)
class _Bounds:
    seconds: float
    capacity: int
    ordered: bool
    retry: AsyncRetryStrategy | None


class _Calls(ProcessFunction):
    """Works off one chunk of rows after the other; owns the event loop, which ends with the task."""

    def __init__(self, function: AsyncFunction, bounds: _Bounds) -> None:
        self._function = function
        self._bounds = bounds
        self._shown_as = type(function).__name__
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, ctx: RuntimeContext) -> None:
        self._row_keys = RowKeys(ctx.get_batch_key(), str(self._shown_as))
        self._function.open(ctx)

    def close(self) -> None:
        self._function.close()
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._loop = None

    def process_batch(self, batch: Any, ctx: Context) -> Iterator[Any]:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        rows = list(row_decoder(batch.schema)(batch))
        for found in self._loop.run_until_complete(self._run(rows)):
            yield from found

    async def _run(self, rows: list[Any]) -> list[Iterable[Any]]:
        """The results of all rows. A failure cancels the calls that are under way."""
        left = iter(enumerate(rows))
        results: list[Any] = [()] * len(rows)
        ended: list[Any] = []

        async def work() -> None:
            for number, row in left:
                results[number] = await self._result(row)
                ended.append(results[number])

        workers = [asyncio.ensure_future(work()) for _ in range(min(self._bounds.capacity, len(rows)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return results if self._bounds.ordered else ended

    async def _result(self, row: Any) -> Iterable[Any]:
        self._row_keys.enter(row)
        call = asyncio.ensure_future(self._call(row))
        try:
            try:
                # wait_for would not tell the end of the row's time from a TimeoutError that the call raises.
                in_time, _ = await asyncio.wait({call}, timeout=self._bounds.seconds)
            finally:
                # It ends before its row does, also where the failure of another row cancels this one.
                if not call.done():
                    call.cancel()
                    await asyncio.gather(call, return_exceptions=True)
                elif not call.cancelled():
                    # Two rows may fail at once: asyncio logs what nobody has asked for.
                    call.exception()
            found = call.result() if in_time else self._function.timeout(row)
            return () if found is None else list(found)
        except Exception as e:
            raise failed(e, "async_invoke", str(self._shown_as), row=row) from e

    async def _call(self, row: Any) -> Any:
        retry, attempts = self._bounds.retry, 1
        while True:
            try:
                found = await self._function.async_invoke(row)
                if retry is None or not retry.can_retry(attempts) or not retry.retries_result(found):
                    return found
            except asyncio.CancelledError:
                raise
            except Exception as e:
                if retry is None or not retry.can_retry(attempts) or not retry.retries_exception(e):
                    raise
            await asyncio.sleep(retry.get_backoff_time_millis(attempts) / 1000)
            attempts += 1
