"""Side outputs."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema


@dataclass(frozen=True)
class OutputTag:
    """A side output: its name, which becomes a struct column of the result, and its columns.

    Raises:
        InvalidConfiguration: the name is empty, or the schema is none.
    """

    name: str
    schema: str | StructType

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidConfiguration(f"a side output named {self.name!r}.", "give it a name.")
        parse_schema(self.schema, f"the schema of side output {self.name}")

    @property
    def struct(self) -> StructType:
        return parse_schema(self.schema, self.name)
