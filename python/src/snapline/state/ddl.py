"""Spark's types from DDL text, without a JVM: the worker and the test harness have none."""

from __future__ import annotations

import re

from pyspark.sql import types as t

from snapline.errors import InvalidConfiguration

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.)*')|([A-Za-z_][A-Za-z_0-9]*)|(\d+)|([<>(),:]))")
_SIMPLE: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "tinyint": t.ByteType(),
    "byte": t.ByteType(),
    "smallint": t.ShortType(),
    "short": t.ShortType(),
    "int": t.IntegerType(),
    "integer": t.IntegerType(),
    "bigint": t.LongType(),
    "long": t.LongType(),
    "float": t.FloatType(),
    "real": t.FloatType(),
    "double": t.DoubleType(),
    "string": t.StringType(),
    "binary": t.BinaryType(),
    "date": t.DateType(),
    "timestamp": t.TimestampType(),
    "timestamp_ltz": t.TimestampType(),
    "timestamp_ntz": t.TimestampNTZType(),
    "void": t.NullType(),
    "variant": t.VariantType(),
}
_DAY_TIME = {"day": 0, "hour": 1, "minute": 2, "second": 3}


def parse_type(text: str) -> t.DataType:
    """``long``, ``array<string>``, ``struct<a:int,b:date>``, or the columns of a struct: ``a int, b date``.

    Raises:
        InvalidConfiguration: the text is no type.
    """
    parser = _Parser(text)
    if parser.is_columns():
        return parser.columns()
    found = parser.type()
    parser.end()
    return found


def parse_schema(schema: str | t.StructType, what: str) -> t.StructType:
    """A schema from columns (``a int, b date``) or as it is.

    Raises:
        InvalidConfiguration: it is neither; ``what`` names it in the message.
    """
    found = parse_type(schema) if isinstance(schema, str) else schema
    if not isinstance(found, t.StructType):
        raise InvalidConfiguration(
            f"{what} is {schema!r}.", 'give columns with their types, such as "tail string, total long".'
        )
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._error(text[at:].strip()[:20])
            self._tokens.append(match[0].strip())
            at = match.end()
        self._at = 0

    def _error(self, near: str) -> InvalidConfiguration:
        return InvalidConfiguration(
            f"{self._text!r} is no type of Spark (near {near!r}).",
            "write it as in CREATE TABLE, or give an object of pyspark.sql.types.",
        )

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].lower() if at < len(self._tokens) else ""

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise self._error("the end")
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._error(self._peek() or "the end")

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise self._error(self._tokens[self._at])

    def is_columns(self) -> bool:
        """``a int`` has a name in front; of the types only intervals have a second word."""
        second = self._peek(1)
        return (
            bool(second) and (second == ":" or second[0] == "_" or second[0].isalpha()) and self._peek() != "interval"
        )

    def columns(self) -> t.StructType:
        fields = self._fields("")
        self.end()
        return fields

    def type(self) -> t.DataType:
        name = self._next().lower()
        if name == "array":
            return t.ArrayType(self._arguments(1)[0])
        if name == "map":
            key, value = self._arguments(2)
            return t.MapType(key, value)
        if name == "struct":
            self._expect("<")
            return t.StructType([]) if self._take(">") else self._fields(">")
        if name in ("decimal", "dec", "numeric"):
            return t.DecimalType(*self._numbers((10, 0)))
        if name in ("char", "character", "varchar"):
            (length,) = self._numbers((0,))
            return t.VarcharType(length) if name == "varchar" else t.CharType(length)
        if name == "interval":
            return self._interval()
        if name not in _SIMPLE:
            raise self._error(name)
        return _SIMPLE[name]

    def _arguments(self, count: int) -> list[t.DataType]:
        self._expect("<")
        found = [self.type()]
        while self._take(","):
            found.append(self.type())
        self._expect(">")
        if len(found) != count:
            raise self._error(">")
        return found

    def _numbers(self, default: tuple[int, ...]) -> list[int]:
        if not self._take("("):
            return list(default)
        found = [int(self._next())]
        while self._take(","):
            found.append(int(self._next()))
        self._expect(")")
        return [*found, *default[len(found) :]]

    def _interval(self) -> t.DataType:
        start = self._next().lower()
        end = self._next().lower() if self._take("to") else start
        if start in ("year", "month"):
            months = {"year": 0, "month": 1}
            return t.YearMonthIntervalType(months[start], months.get(end, 1))
        if start not in _DAY_TIME or end not in _DAY_TIME:
            raise self._error(start)
        return t.DayTimeIntervalType(_DAY_TIME[start], _DAY_TIME[end])

    def _fields(self, end: str) -> t.StructType:
        fields: list[t.StructField] = []
        while True:
            fields.append(self._field())
            if not self._take(","):
                break
        if end:
            self._expect(end)
        return t.StructType(fields)

    def _field(self) -> t.StructField:
        name = self._next()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        elif not (name[0].isalpha() or name[0] == "_"):
            raise self._error(name)
        self._take(":")
        kind = self.type()
        nullable = True
        if self._take("not"):
            self._expect("null")
            nullable = False
        metadata: dict[str, str] = {}
        if self._take("comment"):
            metadata["comment"] = self._next()[1:-1].replace("\\'", "'")
        return t.StructField(name, kind, nullable, metadata)
