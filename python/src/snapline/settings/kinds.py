"""The values that a setting takes, and how Spark's configuration writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from snapline.errors import InvalidConfiguration
from snapline.settings.duration import format_duration, parse_duration
from snapline.settings.sizes import format_size, parse_size


class Kind(Protocol):
    """The values of a setting. Errors call the setting ``name``."""

    def check(self, name: str, value: Any) -> Any:
        """The value, in its own type.

        Raises:
            InvalidConfiguration: it is out of its range.
        """

    def read(self, name: str, text: str) -> Any:
        """The value that a text stands for. ``check`` has still to see it.

        Raises:
            InvalidConfiguration: the text stands for none.
        """

    def write(self, value: Any) -> str:
        """The text that ``read`` reads."""

    @property
    def range(self) -> str:
        """The values, in Markdown."""


@dataclass(frozen=True)
class DurationKind:
    """A timedelta."""

    least: timedelta
    most: timedelta

    def check(self, name: str, value: Any) -> timedelta:
        if not isinstance(value, timedelta) or not self.least <= value <= self.most:
            raise InvalidConfiguration(
                f"{name} is {value!r}.",
                f"set it to a timedelta from {format_duration(self.least)} to {format_duration(self.most)}.",
            )
        return value

    def read(self, name: str, text: str) -> timedelta:
        return parse_duration(name, text)

    def write(self, value: timedelta) -> str:
        return format_duration(value)

    @property
    def range(self) -> str:
        return f"`{format_duration(self.least)}` to `{format_duration(self.most)}`"


@dataclass(frozen=True)
class NumberKind:
    """A whole number."""

    least: int
    most: int

    def check(self, name: str, value: Any) -> int:
        if type(value) is not int or not self.least <= value <= self.most:
            raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to {self._wanted}.")
        return value

    def read(self, name: str, text: str) -> int:
        text = text.strip()
        if not text.isascii() or not text.isdigit() or len(text) > 10:
            raise InvalidConfiguration(f"{name} is '{text}'.", f"set it to {self._wanted}.")
        return int(text)

    def write(self, value: int) -> str:
        return str(value)

    @property
    def _wanted(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    @property
    def range(self) -> str:
        return f"from {self.least}" if self.most == 2**31 - 1 else f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True)
class FractionKind:
    """A number that may have a fraction."""

    least: float
    most: float

    def check(self, name: str, value: Any) -> float:
        if type(value) not in (int, float) or not self.least <= value <= self.most:
            raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to {self._wanted}.")
        return float(value)

    def read(self, name: str, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise InvalidConfiguration(f"{name} is '{text}'.", f"set it to {self._wanted}.") from None

    def write(self, value: float) -> str:
        return f"{value:g}"

    @property
    def _wanted(self) -> str:
        return f"a fraction from {self.least:g} to {self.most:g}"

    @property
    def range(self) -> str:
        return f"{self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class SizeKind:
    """Bytes; a text like ``"20k"`` will do as well."""

    least: int
    most: int

    def check(self, name: str, value: Any) -> int:
        size = parse_size(value) if isinstance(value, str) else value
        if type(size) is not int or not self.least <= size <= self.most:
            raise InvalidConfiguration(
                f"{name} is '{value}'.",
                f"set it to a size from {format_size(self.least)} to {format_size(self.most)}, such as 128m or 1g.",
            )
        return size

    def read(self, name: str, text: str) -> Any:
        return text

    def write(self, value: int) -> str:
        return format_size(value)

    @property
    def range(self) -> str:
        return f"`{format_size(self.least)}` to `{format_size(self.most)}`"


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

    @property
    def range(self) -> str:
        return "`true`, `false`"


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

    @property
    def range(self) -> str:
        return "a path or URI"


@dataclass(frozen=True)
class ChoiceKind:
    """One of some words, in any case, with ``-`` or ``_``."""

    values: tuple[str, ...]

    def check(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            for word in self.values:
                if word.lower().replace("-", "_") == value.strip().lower().replace("-", "_"):
                    return word
        raise InvalidConfiguration(f"{name} is '{value}'.", f"set it to one of {', '.join(self.values)}.")

    def read(self, name: str, text: str) -> str:
        return text

    def write(self, value: str) -> str:
        return str(getattr(value, "value", value))

    @property
    def range(self) -> str:
        return ", ".join(f"`{word}`" for word in self.values)
