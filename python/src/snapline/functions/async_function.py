"""Functions that wait for others: many calls at once, without a thread for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.opened import Opened


class AsyncFunction(Opened, ABC):
    """A function that asks something outside for each row.

    ``open`` runs before there is an event loop: make what belongs to one in the first call.
    """

    @abstractmethod
    async def async_invoke(self, value: Any) -> Iterable[Any] | None:
        """The rows of the output for one row."""

    def timeout(self, value: Any) -> Iterable[Any] | None:
        """The rows for one whose call took too long. It raises, unless it is overridden."""
        raise TimeoutError("the call has timed out")


class AsyncRetryStrategy(ABC):
    """Says whether a call is made once more."""

    def __init__(
        self,
        result_predicate: Callable[[Any], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> None:
        if result_predicate is None and exception_predicate is None:
            raise InvalidConfiguration(
                f"{type(self).__name__} that retries nothing.",
                "give result_predicate or exception_predicate, as lambda e: isinstance(e, ConnectionError).",
            )
        self.retries_result = result_predicate or _never
        self.retries_exception = exception_predicate or _never

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there is another call after so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> float:
        """How long it waits after so many calls."""

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: float,
        result_predicate: Callable[[Any], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> AsyncRetryStrategy:
        """So many calls after the first, each after the same time.

        Args:
            max_attempts: calls after the first at most.
            backoff_time_millis: the time between calls, in ms.
            result_predicate: results for which the call is made again.
            exception_predicate: exceptions for which it is.
        """
        return ExponentialBackoffRetry(
            max_attempts, backoff_time_millis, backoff_time_millis, 1, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: float,
        max_retry_delay: float,
        multiplier: float,
        result_predicate: Callable[[Any], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> AsyncRetryStrategy:
        """The same after times that grow by ``multiplier`` from ``initial_delay`` to ``max_retry_delay``, in ms."""
        return ExponentialBackoffRetry(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class ExponentialBackoffRetry(AsyncRetryStrategy):
    """Calls again after times that grow."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: float,
        max_retry_delay: float,
        multiplier: float,
        result_predicate: Callable[[Any], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        super().__init__(result_predicate, exception_predicate)
        if max_attempts < 1 or initial_delay < 0 or max_retry_delay < initial_delay or multiplier < 1:
            raise InvalidConfiguration(
                f"{max_attempts} retries after {initial_delay} to {max_retry_delay} ms, growing by {multiplier}.",
                "give at least one retry, times from 0 on of which the greatest is last, and a multiplier from 1 on.",
            )
        self._most = max_attempts
        self._initial, self._greatest, self._multiplier = initial_delay, max_retry_delay, multiplier

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._most

    def get_backoff_time_millis(self, current_attempts: int) -> float:
        return min(self._greatest, self._initial * self._multiplier ** (current_attempts - 1))


def _never(_: Any) -> bool:
    return False
