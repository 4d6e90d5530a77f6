"""``async def process_element``: rows of one key one after the other, those of other keys meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Generator, Iterable, Sequence
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any, TypeVar

from snapline.functions.idempotency import RowKeys
from snapline.worker.calls import failed
from snapline.worker.element import ElementLoop
from snapline.worker.loops import Parts

_T = TypeVar("_T")
#: Slot, time of the row in ms, row.
_Row = tuple[int, "int | None", Any]


class AsyncElementLoop(ElementLoop):
    """Works off one chunk of rows after the other; owns the event loop, which ends with the task."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._capacity: int = parts.function.async_capacity
        timeout = parts.function.async_timeout
        self._seconds: float | None = None if timeout is None else timeout.total_seconds()
        self._yields = isasyncgenfunction(parts.function.process_element)
        self._row_keys = RowKeys(parts.batch_key, parts.job.plan.name)
        self._current: tuple[int, int | None] | None = None
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(self._make_task)  # type: ignore[arg-type]

    def close(self) -> None:
        """The function's ``close``, which may be a coroutine, and the end of the event loop."""
        try:
            if iscoroutinefunction(self._function.close):
                self._loop.run_until_complete(self._function.close())
            else:
                self._function.close()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _in_time(self, rows: Iterable[_T]) -> Iterable[_T]:
        """All of them: the time is looked at when a row is begun, and not when it is taken."""
        return rows

    def _run(self, rows: Iterable[tuple[int, Any]]) -> None:
        self._run_timed((slot, None, row) for slot, row in rows)

    def _run_timed(self, rows: Iterable[_Row]) -> None:
        self._loop.run_until_complete(self._all(rows))

    async def _all(self, rows: Iterable[_Row]) -> None:
        """A failure cancels the calls that are under way.

        Under a limit no row waits behind one of its key: rows that are left have to be the last ones of the chunk.
        """
        tasks: set[asyncio.Task[None]] = set()
        waiting: dict[int, deque[_Row]] = {}
        limit = self._limit
        try:
            for each in rows:
                slot = each[0]
                if slot in waiting and limit is None:
                    waiting[slot].append(each)
                    continue
                while slot in waiting or len(tasks) >= self._capacity:
                    tasks = await _next(tasks)
                if limit is not None and not limit.begins():
                    break
                waiting[slot] = deque([each])
                tasks.add(asyncio.ensure_future(self._work(slot, waiting)))
            while tasks:
                tasks = await _next(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, slot: int, waiting: dict[int, deque[_Row]]) -> None:
        """The rows of one key that there are by now; no others are added once its queue is empty."""
        rows = waiting[slot]
        while rows:
            _, timestamp, row = rows.popleft()
            self._row_keys.enter(row)
            try:
                await asyncio.wait_for(_OfKey(self, slot, timestamp, self._call(row)).run(), self._seconds)
            except Exception as e:
                self._cursor.slot = slot
                raise failed(e, "process_element", self._name, **self._context.place(), row=row) from e
        del waiting[slot]

    async def _call(self, row: Any) -> None:
        called = self._function.process_element(row, self._context)
        if self._yields:
            async for each in called:
                self._outputs.extend((each,))
        elif (found := await called) is not None:
            self._outputs.extend(found)

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, call: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        """A task that the function starts (gather, create_task) has the place of the row for which it does.

        As with context variables it begins with the namespaces of then, and those that it sets are its own.
        """
        if self._current is not None:
            call = _OfKey(self, *self._current, call).run()
        return asyncio.Task(call, loop=loop, **options)

    def namespaces(self) -> list[Any]:
        """The namespaces of the code that runs."""
        return self._cursor.namespaces()

    def enter(self, current: tuple[int, int | None] | None, namespaces: Sequence[Any]) -> list[Any]:
        """The key and namespaces of the code that runs until the next call; gives the namespaces of the code before.

        A key of None is for the loop's own code.
        """
        before = self._cursor.namespaces()
        self._cursor.set_namespaces(namespaces)
        self._current = current
        if current is not None:
            self._cursor.slot, self._cursor.timestamp = current
        return before


class _OfKey:
    """A coroutine that finds the cursor at its row, and its own namespaces, whenever it goes on."""

    def __init__(
        self, owner: AsyncElementLoop, slot: int, timestamp: int | None, call: Coroutine[Any, Any, Any]
    ) -> None:
        self._owner = owner
        self._place = slot, timestamp
        self._call = call
        self._namespaces = owner.namespaces()

    async def run(self) -> Any:
        """As a coroutine, which a task is made of."""
        return await self

    def __await__(self) -> Generator[Any, None, Any]:
        owner, call = self._owner, self._call
        raised: BaseException | None = None
        while True:
            outside = owner.enter(self._place, self._namespaces)
            try:
                waits_for = call.send(None) if raised is None else call.throw(raised)
            except StopIteration as end:
                return end.value
            finally:
                self._namespaces = owner.enter(None, outside)
            try:
                raised = yield waits_for
            except GeneratorExit:
                call.close()
                raise
            except BaseException as e:
                raised = e


async def _next(tasks: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Those under way after one has ended; raises what one has raised."""
    ended, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in ended:
        task.result()
    return left
