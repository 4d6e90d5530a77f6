"""One rule for all states: a call stores what it was given, as it was then, in the form that the store gives back.

So a state looks the same before and after an epoch has ended, and nobody changes it but by calling it. Keys have a form
whose equality in Python is that of the bytes in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import numpy as np
from pyspark.sql import types as t

from snapline.state.pickles import pickled_form_parts
from snapline.state.row import by_position, row_class, row_maker
from snapline.state.scalars import Never, scalar

Change = Callable[[Any], Any]
_WRONG = (TypeError, ValueError, OverflowError, ArithmeticError, AttributeError)


@dataclass(frozen=True)
class Form:
    """How values of one type are kept between a call that stores and one that reads.

    Attributes:
        exact: values of this very type are kept as they are.
        take: makes the kept value of one that a call was given; None stays None, or is refused.
        give: makes the value that is handed out; None: a kept value cannot be changed, and is handed out itself.
        own: makes a value that a function may change, and that ``keep`` keeps.
        keep: makes the kept value of one that a function has changed.
        copy: copies the other argument of a function, if parts of it could be kept.
    """

    exact: type
    take: Change
    give: Change | None = None
    own: Change | None = None
    keep: Change | None = None
    copy: Change | None = None


def same(value: Any) -> Any:
    return value


#: The form of values that are taken as they are.
ANY = Form(Never, same)


def form_of(
    kind: t.DataType, zone: tzinfo | None, what: str, *, pickled: bool = False, takes_none: bool = True
) -> Form:
    """The form of a state's values; ``what`` they are is in the error about one that does not fit.

    Raises:
        TypeError: (by the form) a value does not fit.
    """
    if pickled:
        return Form(Never, *pickled_form_parts())
    form = _form(kind, zone, False)
    take = _named(_unless_none(kind, zone, False) or form.take, what, kind, takes_none)
    if form.give is None:
        return Form(form.exact, take)
    return Form(form.exact, take, form.give, same, take, same)


def element_form(kind: t.DataType, zone: tzinfo | None, what: str, *, pickled: bool = False) -> Form:
    """The form of what a list, a map or an operator state holds. It may be None, unless it is a struct.

    A store keeps the fields of a struct: one that is None would come back as a row of Nones. Spark's layout is so.
    """
    return form_of(kind, zone, what, pickled=pickled, takes_none=not isinstance(kind, t.StructType))


def key_form(kind: t.DataType, zone: tzinfo | None, what: str) -> Form:
    """The form of the keys of a map, or of namespaces."""
    form = _form(kind, zone, True)
    return Form(form.exact, _named(_unless_none(kind, zone, True) or form.take, what, kind))


def _unless_none(kind: t.DataType, zone: tzinfo | None, is_key: bool) -> Change | None:
    # A call less for each value: who names what is wrong has seen to None.
    found = scalar(kind, zone, is_key)
    return None if found is None else found[1]


def _named(take: Change, what: str, kind: t.DataType, takes_none: bool = True) -> Change:
    def take_named(value: Any) -> Any:
        if value is None:
            if takes_none:
                return None
            raise TypeError(
                f"{what} is of type {kind.simpleString()}, and was given None, which would come back as a row of "
                "Nones: leave it out, remove what there is, or let a field of the struct say that there is nothing"
            )
        try:
            return take(value)
        except _WRONG as e:
            raise TypeError(
                f"{what} is of type {kind.simpleString()}, and was given {value!r:.200}, a {type(value).__name__}: {e}"
            ) from e

    return take_named


def _form(kind: t.DataType, zone: tzinfo | None, is_key: bool) -> Form:
    found = scalar(kind, zone, is_key)
    if found is not None:
        exact, take = found
        return Form(exact, _or_none(take))
    if isinstance(kind, t.UserDefinedType):
        return _form(kind.sqlType(), zone, is_key)
    if isinstance(kind, t.VariantType):
        kind = _VARIANT
    if isinstance(kind, t.StructType):
        return _struct(kind.names, [_form(field.dataType, zone, is_key) for field in kind.fields])
    if isinstance(kind, t.ArrayType):
        return _array(_form(kind.elementType, zone, is_key), is_key)
    if isinstance(kind, t.MapType):
        return _map(_form(kind.keyType, zone, True), _form(kind.valueType, zone, False))
    return ANY


#: As it travels.
_VARIANT = t.StructType([t.StructField("value", t.BinaryType()), t.StructField("metadata", t.BinaryType())])


def _or_none(take: Change) -> Change:
    return lambda value: None if value is None else take(value)


def _struct(names: Sequence[str], fields: Sequence[Form]) -> Form:
    row, make = row_class(tuple(names)), row_maker(names)
    exact = tuple(field.exact for field in fields)
    takes = [field.take for field in fields]
    count = len(names)

    def take(value: Any) -> Any:
        if value is None:
            return None
        values = value if type(value) is row else by_position(value, names)
        if len(values) != count:
            raise ValueError(f"{len(values)} values where {count} belong ({', '.join(names)}): {value!r:.200}")
        if tuple(map(type, values)) == exact:
            return value if type(value) is row else make(values)
        return make(
            [each if type(each) is of else take(each) for each, of, take in zip(values, exact, takes, strict=True)]
        )

    gives = [field.give for field in fields]
    if not any(gives):
        return Form(Never, take)

    def give(value: Any) -> Any:
        if value is None:
            return None
        return make([each if give is None else give(each) for each, give in zip(value, gives, strict=True)])

    return Form(Never, take, give)


def _array(element: Form, is_key: bool) -> Form:
    exact, take_element, give_element = element.exact, element.take, element.give
    as_they_are = {exact, type(None)}.issuperset

    def take(value: Any) -> Any:
        if value is None:
            return None
        values = value.copy() if type(value) is list else _elements(value)
        if not as_they_are(map(type, values)):
            values = [each if type(each) is exact else take_element(each) for each in values]
        return tuple(values) if is_key else values

    if is_key:
        return Form(Never, take)

    def give(value: Any) -> Any:
        if value is None:
            return None
        return value.copy() if give_element is None else [give_element(each) for each in value]

    return Form(Never, take, give)


def _elements(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        raise TypeError("no list")
    return value.tolist() if isinstance(value, np.ndarray) and value.dtype.kind in "iufb" else list(value)


def _map(key: Form, item: Form) -> Form:
    key_exact, take_key, item_exact, take_item = key.exact, key.take, item.exact, item.take
    keys_as_they_are = {key_exact}.issuperset
    items_as_they_are = {item_exact, type(None)}.issuperset
    give_item = item.give

    def take(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dict and not isinstance(value, Mapping):
            raise TypeError("no map")
        if keys_as_they_are(map(type, value)) and items_as_they_are(map(type, value.values())):
            return dict(value)
        return {
            k if type(k) is key_exact else take_key(k): v if type(v) is item_exact else take_item(v)
            for k, v in value.items()
        }

    def give(value: Any) -> Any:
        if value is None:
            return None
        return value.copy() if give_item is None else {k: give_item(v) for k, v in value.items()}

    return Form(Never, take, give)
