"""Runs functions of the package beside the server, where a client of Spark Connect calls them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from uuid import uuid4

from snapline.java_api import is_connect

P = ParamSpec("P")
R = TypeVar("R")


def runs_beside(function: Callable[P, R]) -> Callable[P, R]:
    """A function that works in a driver. With an argument of Spark Connect it runs beside the server.

    Paths are the server's then. A DataFrame that it returns is one of the client's session.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        given = next((each for each in (*args, *kwargs.values()) if is_connect(each)), None)
        if given is None:
            return function(*args, **kwargs)
        result: R = call_beside(session_of(given), run, *args, **kwargs)
        return result

    return run


def call_beside(session: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the package beside the server.

    Args:
        session: the client's.

    Raises:
        SnaplineError: as the function; or the server has no Snapline, or no Python that has it.
        InvalidConfiguration: an argument cannot be sent, or the server's Python cannot read it.
        PySparkException: as the function.
    """
    from snapline.remote.answers import read_answer
    from snapline.remote.call import ask, frame_of
    from snapline.remote.pickles import pickle_call

    pickled, plans = pickle_call(function, args, kwargs)
    return read_answer(ask(session, str(uuid4()), pickled, plans), functools.partial(frame_of, session))


def session_of(given: Any) -> Any:
    """The client's session, of itself, a DataFrame or a writer."""
    if type(given).__name__ == "SparkSession":
        return given
    return given._session
