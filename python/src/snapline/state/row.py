"""Rows and struct values: tuples with named fields, made and read at the speed of C."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar


class Row(tuple[Any, ...]):
    """A tuple whose fields have names: ``row.tail``, ``row["tail"]``, ``row[0]``.

    A name that no attribute can have (``a b``, ``class``) is reached by ``row["a b"]``.
    """

    __slots__ = ()
    __fields__: ClassVar[tuple[str, ...]] = ()
    _positions: ClassVar[dict[str, int]] = {}

    def __getitem__(self, item: Any) -> Any:
        if type(item) is str:
            try:
                return tuple.__getitem__(self, self._positions[item])
            except KeyError:
                raise KeyError(f"{item}; the fields are {', '.join(self.__fields__)}") from None
        return tuple.__getitem__(self, item)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the row has no field {name}; its fields are {', '.join(self.__fields__)}")

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Names and values; of fields with one name the last. ``recursive``: rows within it are dicts too."""
        if not recursive:
            return dict(zip(self.__fields__, self, strict=True))
        return {name: _plain(value) for name, value in zip(self.__fields__, self, strict=True)}

    asDict = as_dict  # PySpark's name for it

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self.__fields__, self, strict=True))
        return f"Row({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is made at run time: a pickle says how to make it again.
        return _restore, (self.__fields__, tuple(self))


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def row_maker(names: Sequence[str]) -> Callable[[Iterable[Any]], Row]:
    """Makes rows with these fields from tuples."""
    return partial(tuple.__new__, row_class(tuple(names)))


@lru_cache(maxsize=1024)
def row_class(names: tuple[str, ...]) -> type[Row]:
    # The getters of a named tuple are C; through any other descriptor a field costs twice as much.
    places = [f"f{i}" for i in range(len(names))]
    source = namedtuple("source", places)  # type: ignore[misc]
    getters = [vars(source)[place] for place in places]
    reserved = set(dir(Row)) - {"count", "index"} | {"__slots__"}
    fields = {name: getters[i] for i, name in enumerate(names) if name not in reserved}
    positions = {name: i for i, name in enumerate(names)}
    return type("Row", (Row,), {**fields, "__slots__": (), "__fields__": names, "_positions": positions})


def by_position(row: Any, names: Sequence[str]) -> Sequence[Any]:
    """A row of any kind as values in this order: dicts and rows with these names by name, the rest by position.

    Raises:
        TypeError: it is no row.
        ValueError: a dict has other names.
    """
    if isinstance(row, Row) or (isinstance(row, tuple) and hasattr(row, "__fields__")):
        fields = row.__fields__
        if tuple(fields) == tuple(names) or set(fields) != set(names):
            return row
        by_name = dict(zip(fields, row, strict=True))
        return [by_name[name] for name in names]
    if isinstance(row, (tuple, list)):
        return row
    if isinstance(row, Mapping):
        unknown = set(row) - set(names)
        if unknown:
            raise ValueError(f"there is no column {', '.join(map(str, unknown))}; the columns are {', '.join(names)}")
        return [row.get(name) for name in names]
    raise TypeError(f"{row!r:.200}, a {type(row).__name__}, is no row: give a tuple, a dict or a Row")


def _restore(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
    return row_maker(names)(values)
