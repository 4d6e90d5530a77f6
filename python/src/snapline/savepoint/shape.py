"""The shape of an operator, for a match without a name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from snapline.savepoint.layout import OperatorLayout


def state_names(operator: OperatorLayout) -> set[str]:
    """The names that users gave to states."""
    return {key.name for key in operator.states if not key.name.startswith("$")}


def shape_of(operator: OperatorLayout) -> Hashable:
    """Kind and columns: what Spark asks of the state of an operator that it does not know by name."""
    states = [
        (store["name"], family["name"], _types(family["key"]), _types(family["value"]), family["multi"])
        for store in operator.json["stores"]
        for family in store["states"]
        # A family of a function's schemas: it exists only once a schema has changed. And a query that is planned has no
        # states that it has left out.
        if not family["name"].startswith("$schema") and not family.get("leftOut")
    ]
    return operator.name, tuple(sorted(states, key=repr))


def _types(schema: Any) -> Hashable:
    """A type without the names of columns, and without which of them may be null."""
    if not isinstance(schema, dict):
        return str(schema)
    match schema["type"]:
        case "struct":
            return tuple(_types(field["type"]) for field in schema["fields"])
        case "array":
            return "array", _types(schema["elementType"])
        case "map":
            return "map", _types(schema["keyType"]), _types(schema["valueType"])
        case "udt":
            return _types(schema["sqlType"])
        case other:
            return str(other)
