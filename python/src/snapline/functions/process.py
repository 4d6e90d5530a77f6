"""The base of the functions that users write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Container, Iterable
from datetime import timedelta
from importlib.util import find_spec
from inspect import isasyncgenfunction, iscoroutine, iscoroutinefunction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from snapline.errors import InvalidConfiguration

if TYPE_CHECKING:
    from snapline.functions.arrow_state import ArrowState
    from snapline.functions.context import Context, RuntimeContext
    from snapline.state.row import Row

Mode = Literal["element", "batch", "arrow"]
BatchType = Literal["arrow", "pandas", "polars", "rows"]

#: The rows of an ``async def``, with ``yield`` or without.
AsyncRows: TypeAlias = AsyncIterable[Any] | Awaitable[Iterable[Any] | None]

# The other methods of a function of any kind that are called.
_OTHER_METHODS = (
    "open",
    "close",
    "on_timer",
    "process_broadcast_element",
    "initialize_state",
    "snapshot_state",
)
_METHODS: dict[Mode, str] = {"element": "process_element", "batch": "process_batch", "arrow": "process_arrow"}


class KeyedProcessFunction:
    """A function of the rows of a key, with state and timers.

    Override exactly one of the three process methods. ``open`` runs once per task and micro-batch, and once on the
    driver when the query is planned, to see which states there are: attributes of the object are not state.

    Attributes:
        batch_type: what ``process_batch`` is given; None: what the annotation of its parameter says, else Arrow.
        takes_late_rows: True: rows older than the watermark reach the function, as in Flink. False: they are dropped
            and counted, or go to ``late_output``.
        lists_timers: True: ``ctx.timer_service().list_timers()`` gives the timers of a key, at the price of an entry
            of state for each. Not with ``process_arrow``.
        async_capacity: how many keys of a partition an ``async def process_element`` has under way at most.
        async_timeout: how long such a call may take for a row; None: as long as it takes.
    """

    batch_type: ClassVar[BatchType | None] = None
    takes_late_rows: ClassVar[bool] = False
    lists_timers: ClassVar[bool] = False
    async_capacity: ClassVar[int] = 100
    async_timeout: ClassVar[timedelta | None] = None
    #: The name of a function of Snapline's that stands for one of the user's.
    _shown_as: str | None = None
    #: Whether timers that ``on_timer`` sets come to an end by themselves, so that a bounded DataFrame fires them too.
    _ends_its_timers: ClassVar[bool] = False

    def open(self, ctx: RuntimeContext) -> None:
        """Asks for states and metrics."""

    def close(self) -> Awaitable[None] | None:
        """Gives back what ``open`` took."""
        return None

    def process_element(self, row: Row, ctx: Context) -> Iterable[Any] | AsyncRows | None:
        """Handles one row; yields rows of the output, as tuples, dicts or rows.

        It may be an ``async def``: then rows of a key still come one after the other, and other keys go on meanwhile.
        ``close`` may be one too then.
        """
        raise NotImplementedError

    def process_batch(self, key: Any, batch: Any, ctx: Context) -> Any:
        """Handles the rows of one key in a micro-batch; gives or yields data frames of the batch's kind, or rows.

        With ``batch_type = "rows"`` the batch is a list of rows.
        """
        raise NotImplementedError

    def process_arrow(self, batch: Any, state: ArrowState) -> Any:
        """Handles the rows of many keys, with their state as columns; gives or yields record batches or tables."""
        raise NotImplementedError

    def process_initial_state(self, row: Row, ctx: Context) -> None:
        """Makes state of one row of an initial state (``process(..., initial_state=...)``); puts no rows out.

        All rows of the initial state come before all others, in the first micro-batch of a new query. Timers may be
        set: they fire after the rows of that micro-batch.
        """
        raise NotImplementedError

    def on_timer(self, timestamp: int, ctx: Context) -> Iterable[Any] | None:
        """Handles a timer that is due; yields rows of the output. The time stamp is in ms."""
        raise NotImplementedError(f"{type(self).__name__} registers timers, and has no on_timer")

    def _initial_state_function(self) -> KeyedProcessFunction | None:
        """The function for the rows of an initial state; None: one that calls ``process_initial_state``."""
        return None


def mode_of(function: Any, base: type[Any] = KeyedProcessFunction) -> Mode:
    """The process method of ``base`` that is overridden.

    Raises:
        InvalidConfiguration: none or several are, or it is no such function.
    """
    if not isinstance(function, base):
        what = "the class itself" if isinstance(function, type) else f"no {base.__name__}"
        raise InvalidConfiguration(
            f"{function!r}, {what}.", f"give an object of a subclass of snapline.{base.__name__}."
        )
    methods = {mode: name for mode, name in _METHODS.items() if hasattr(base, name)}
    found = [mode for mode, name in methods.items() if getattr(type(function), name) is not getattr(base, name)]
    if len(found) != 1:
        names = ", ".join(methods[mode] for mode in found) or "none"
        *first, last = methods.values()
        raise InvalidConfiguration(
            f"{type(function).__name__} overrides {names} of {', '.join(first)} and {last}.",
            "override exactly one of them.",
        )
    return found[0]


def has_async_rows(function: Any) -> bool:
    """Whether ``process_element`` is asynchronous.

    Raises:
        InvalidConfiguration: it is, and the bounds of its calls cannot be.
    """
    method = getattr(function, "process_element", None)
    if not (iscoroutinefunction(method) or isasyncgenfunction(method)):
        return False
    capacity, timeout = function.async_capacity, function.async_timeout
    if type(capacity) is not int or capacity < 1:
        raise InvalidConfiguration(f"async_capacity is {capacity!r}.", "give a whole number from 1 on.")
    if timeout is not None and not (isinstance(timeout, timedelta) and timeout > timedelta(0)):
        raise InvalidConfiguration(f"async_timeout is {timeout!r}.", "give a timedelta above zero, or None.")
    return True


def close(function: Any) -> None:
    """Closes a function that has no event loop of its own; its ``close`` may be a coroutine all the same."""
    closing = function.close()
    if iscoroutine(closing):
        asyncio.run(closing)


def check_synchronous(function: Any, but: Container[str] = ()) -> None:
    """
    Args:
        function: a function of any kind.
        but: the methods that may be coroutines.

    Raises:
        InvalidConfiguration: a method that Snapline calls is a coroutine, which nobody would run.
    """
    check_synchronous_methods(function, [name for name in (*_METHODS.values(), *_OTHER_METHODS) if name not in but])


def check_synchronous_methods(function: Any, names: Iterable[str]) -> None:
    """
    Raises:
        InvalidConfiguration: one of these methods is a coroutine.
    """
    for name in names:
        method = getattr(function, name, None)
        if iscoroutinefunction(method) or isasyncgenfunction(method):
            raise InvalidConfiguration(
                f"{type(function).__name__}.{name} is an async function.",
                f"write `def {name}`. To wait for many answers at once, write `async def process_element` in a "
                "KeyedProcessFunction, or call snapline.async_process().",
            )


def check_library(batch_type: BatchType, name: str) -> None:
    """
    Raises:
        InvalidConfiguration: the library of the batches is not installed.
    """
    if batch_type in ("pandas", "polars") and find_spec(batch_type) is None:
        raise InvalidConfiguration(
            f"process_batch of {name} wants batches of {batch_type}, and {batch_type} is not installed.",
            f'install it here and where the workers run (pip install "snapline[{batch_type}]"), or take Arrow batches.',
        )


def batch_type_of(function: Any) -> BatchType:
    """The type of batch that ``process_batch`` wants; the batch is its last parameter but one.

    Raises:
        InvalidConfiguration: that is no type of batch.
    """
    wanted: BatchType | None = function.batch_type
    if wanted is not None:
        if wanted not in get_args(BatchType):
            raise InvalidConfiguration(
                f"{type(function).__name__}.batch_type is {function.batch_type!r}.",
                f"set it to one of {', '.join(get_args(BatchType))}.",
            )
        return wanted
    code = type(function).process_batch.__code__
    name = code.co_varnames[code.co_argcount - 2] if code.co_argcount > 2 else "batch"
    annotation = type(function).process_batch.__annotations__.get(name, "")
    text = annotation if isinstance(annotation, str) else f"{annotation.__module__}.{annotation.__qualname__}"
    if text.startswith(("pd.", "pandas.")):
        return "pandas"
    if text.startswith(("pl.", "polars.")):
        return "polars"
    return "arrow"
