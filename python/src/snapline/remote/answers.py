"""Values that a call from a client gives, as JSON.

A client unpickles nothing that a server sends. Objects of the package are those of its dataclasses and errors.
"""

from __future__ import annotations

import builtins
import dataclasses
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from snapline.errors import InternalError, SnaplineError

_PACKAGE = "snapline"
_PLAIN = (bool, int, float, str, type(None))


def write_answer(call: Callable[[], Any], keep: Callable[[Any], str]) -> str:
    """Calls a function, and writes its result or its error.

    Args:
        keep: the name by which the client gets a DataFrame.
    """
    try:
        return json.dumps({"value": _encoded(call(), keep)})
    except Exception as e:
        return json.dumps({"error": _encoded(e, keep)})


def read_answer(text: str, frame: Callable[[str], Any]) -> Any:
    """The result of a call; its error is raised.

    Args:
        frame: the DataFrame of a name.

    Raises:
        InternalError: the text is no answer.
    """
    try:
        answer = json.loads(text)
        is_error = "error" in answer
        value = _decoded(answer["error" if is_error else "value"], frame)
    except (ValueError, KeyError, TypeError, AttributeError, ImportError) as e:
        raise InternalError(f"the server's answer cannot be read: {e!r}.", "report it.") from e
    if is_error:
        raise value
    return value


def _encoded(value: Any, keep: Callable[[Any], str]) -> Any:
    """A plain value as it is, and any other as a dict with its kind."""

    def each(values: Any) -> list[Any]:
        return [_encoded(one, keep) for one in values]

    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return {"kind": "list", "of": each(value)}
    if isinstance(value, tuple):
        return {"kind": "tuple", "of": each(value)}
    if isinstance(value, range):
        return {"kind": "range", "of": [value.start, value.stop, value.step]}
    if isinstance(value, Mapping):
        return {"kind": "map", "of": [each(entry) for entry in value.items()]}
    if isinstance(value, BaseException):
        return _encoded_error(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _encoded(getattr(value, field.name), keep) for field in dataclasses.fields(value)}
        return {"kind": "data", "class": _name_of(type(value)), "of": fields}
    if type(value).__module__.startswith("pyspark.sql.") and type(value).__name__ == "DataFrame":
        return {"kind": "frame", "of": keep(value)}
    raise TypeError(f"a {type(value).__name__} cannot be sent to a client of Spark Connect.")


def _encoded_error(error: BaseException) -> dict[str, Any]:
    from pyspark.errors import PySparkException

    kind = type(error)
    if isinstance(error, SnaplineError):
        return {"kind": "snapline", "class": _name_of(kind), "of": [error.found, error.action]}
    if isinstance(error, PySparkException):
        return {"kind": "spark", "class": kind.__name__, "of": str(error)}
    if kind.__module__ == builtins.__name__:
        return {"kind": "python", "class": kind.__name__, "of": str(error)}
    return {"kind": "python", "class": "RuntimeError", "of": f"{kind.__name__}: {error}"}


def _decoded(value: Any, frame: Callable[[str], Any]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    kind, of = value["kind"], value["of"]
    if kind in ("list", "tuple"):
        values = [_decoded(each, frame) for each in of]
        return values if kind == "list" else tuple(values)
    if kind == "range":
        return range(*of)
    if kind == "map":
        return {_decoded(key, frame): _decoded(each, frame) for key, each in of}
    if kind == "data":
        return _named(value["class"], object)(**{name: _decoded(each, frame) for name, each in of.items()})
    if kind == "frame":
        return frame(of)
    return _decoded_error(kind, value["class"], of)


def _decoded_error(kind: str, name: str, of: Any) -> Exception:
    from pyspark import errors
    from pyspark.errors import PySparkException

    if kind == "snapline":
        error: Exception = _named(name, SnaplineError)(*of)
        return error
    if kind == "spark":
        found = getattr(errors, name, None)
        is_known = isinstance(found, type) and issubclass(found, PySparkException)
        return (found if is_known else PySparkException)(message=of)  # type: ignore[misc]
    found = getattr(builtins, name)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise TypeError(f"{name} is no error.")
    return found(of)


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _named(name: str, root: type) -> Any:
    """A dataclass or an error of the package, and nothing else."""
    module, _, qualified = name.partition(":")
    if module.partition(".")[0] != _PACKAGE:
        raise TypeError(f"{name} is not of the package.")
    found = getattr(import_module(module), qualified)
    if not (isinstance(found, type) and issubclass(found, root)):
        raise TypeError(f"{name} is no {root.__name__}.")
    if root is object and not dataclasses.is_dataclass(found):
        raise TypeError(f"{name} is no dataclass.")
    return found
