"""What values a setting of checkpoints takes, and how Spark's settings write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Protocol

from snapline.errors import InvalidConfiguration
from snapline.settings.duration import format_duration, parse_duration
from snapline.settings.sizes import format_size, parse_size

_LONGEST = timedelta(days=365)
_MOST = 2**31 - 1


class Kind(Protocol):
    """Of a setting; ``name`` is what an error calls it."""

    def check(self, name: str, value: Any) -> Any:
        """The value, in its own type.

        Raises:
            InvalidConfiguration: it is out of its range.
        """

    def read(self, name: str, text: str) -> Any:
        """The value that a text stands for; ``check`` has still to see it.

        Raises:
            InvalidConfiguration: the text stands for none.
        """

    def write(self, value: Any) -> str:
        """The text that ``read`` reads."""


@dataclass(frozen=True)
class DurationKind:
    """A timedelta."""

    least: timedelta

    def check(self, name: str, value: Any) -> timedelta:
        if not isinstance(value, timedelta) or not self.least <= value <= _LONGEST:
            raise InvalidConfiguration(
                f"{name} is {value!r}.",
                f"set it to a timedelta from {format_duration(self.least)} to {format_duration(_LONGEST)}.",
            )
        return value

    def read(self, name: str, text: str) -> timedelta:
        return parse_duration(name, text)

    def write(self, value: timedelta) -> str:
        return format_duration(value)


@dataclass(frozen=True)
class NumberKind:
    """A whole number."""

    least: int

    def check(self, name: str, value: Any) -> int:
        if type(value) is not int or not self.least <= value <= _MOST:
            raise InvalidConfiguration(f"{name} is {value!r}.", f"set it to a whole number from {self.least} on.")
        return value

    def read(self, name: str, text: str) -> int:
        text = text.strip()
        if not text.isascii() or not text.isdigit() or len(text) > 10:
            raise InvalidConfiguration(f"{name} is '{text}'.", "set it to a whole number.")
        return int(text)

    def write(self, value: int) -> str:
        return str(value)


@dataclass(frozen=True)
class SizeKind:
    """Bytes; a text like ``"20k"`` will do as well."""

    least: int
    most: int

    def check(self, name: str, value: Any) -> int:
        size = parse_size(value) if isinstance(value, str) else value
        if type(size) is not int or not self.least <= size <= self.most:
            raise InvalidConfiguration(
                f"{name} is {value!r}.", f"set it to a size from {format_size(self.least)} to {format_size(self.most)}."
            )
        return size

    def read(self, name: str, text: str) -> Any:
        return text

    def write(self, value: int) -> str:
        return format_size(value)


class FlagKind:
    """A bool."""

    def check(self, name: str, value: Any) -> bool:
        if type(value) is not bool:
            raise InvalidConfiguration(f"{name} is {value!r}.", "set it to True or False.")
        return value

    def read(self, name: str, text: str) -> bool:
        if text.strip().lower() not in ("true", "false"):
            raise InvalidConfiguration(f"{name} is '{text}'.", "set it to true or false.")
        return text.strip().lower() == "true"

    def write(self, value: bool) -> str:
        return str(value).lower()


class PathKind:
    """A path or URI, as a text or ``os.PathLike``."""

    def check(self, name: str, value: Any) -> str:
        text = str(value).rstrip("/") if hasattr(value, "__fspath__") or isinstance(value, str) else ""
        if not text:
            raise InvalidConfiguration(f"{name} is {value!r}.", "set it to a path.")
        return text

    def read(self, name: str, text: str) -> str:
        return text.strip()

    def write(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class ChoiceKind:
    """One of an enum's values, in any case."""

    values: type[Enum]

    def check(self, name: str, value: Any) -> Enum:
        try:
            return self.values(value.strip().upper().replace("-", "_"))
        except (AttributeError, ValueError):
            wanted = ", ".join(str(each.value) for each in self.values)
            raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to one of {wanted}.") from None

    def read(self, name: str, text: str) -> str:
        return text

    def write(self, value: Enum) -> str:
        return str(value.value)
