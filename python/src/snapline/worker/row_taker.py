"""Takes rows as they are when they are given: the function may change them afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from snapline.functions.errors import FunctionFailed
from snapline.functions.output_tag import OutputTag
from snapline.functions.time import zone_of
from snapline.state.form import form_of
from snapline.state.row import by_position
from snapline.state.scalars import Never


class RowTaker:
    """Rows of one schema.

    Attributes:
        exact: rows of this very type need not be taken: nobody can change them, nor what is in them.
    """

    def __init__(self, what: str, schema: pa.Schema) -> None:
        self._what = what
        self._names = schema.names
        # A value of any other type is an object that cannot be changed, or does not fit.
        self._changeable = [
            (
                i,
                form_of(
                    from_arrow_type(field.type, prefer_timestamp_ntz=True),
                    _zone_within(field.type),
                    f"column {field.name}",
                ),
            )
            for i, field in enumerate(schema)
            if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
        ]
        self.exact: type = Never if self._changeable else tuple

    def take(self, row: Any) -> Any:
        """The row as a tuple; None stays None.

        Raises:
            FunctionFailed: it is no row, or what is in it does not fit the schema.
        """
        if row is None or type(row) is self.exact:
            return row
        try:
            values = row if type(row) is tuple else by_position(row, self._names)
            if not self._changeable or len(values) != len(self._names):
                return tuple(values)  # of a wrong length, which is told when it is sent
            taken = list(values)
            for at, form in self._changeable:
                if type(taken[at]) is not form.exact:
                    taken[at] = form.take(taken[at])
            return tuple(taken)
        except (TypeError, ValueError) as e:
            wrong = FunctionFailed(f"{self._what}: {e}.", "give rows that fit the schema.")
            raise meant_for_a_side_output(row) or wrong from e


#: In the place of a row that went to a side output.
EMITTED: Final = ("emitted",)


class TaggingTaker(RowTaker):
    """The same where there are side outputs: a pair of a tag and a row goes to the tag's, as PyFlink has it."""

    def __init__(self, what: str, schema: pa.Schema, emit: Callable[[OutputTag, Any], None]) -> None:
        super().__init__(what, schema)
        self._emit = emit
        self.exact = Never

    def take(self, row: Any) -> Any:
        if type(row) is tuple and len(row) == 2 and type(row[0]) is OutputTag:
            self._emit(*row)
            return EMITTED
        return super().take(row)


def meant_for_a_side_output(row: Any) -> FunctionFailed | None:
    """The error for a row that begins with the tag of a side output that the query lacks; None: it does not."""
    if isinstance(row, (tuple, list)) and row and isinstance(row[0], OutputTag):
        return FunctionFailed(
            f"a row of the output that begins with the tag of side output {row[0].name}, and is no pair of a tag and a "
            "row, or the query does not have that side output.",
            "yield tag, value, and give the tag to process(..., side_outputs=[tag]).",
        )
    return None


def _zone_within(kind: pa.DataType) -> Any:
    """The time zone of the time stamps in a type; they all have that of the session."""
    if pa.types.is_timestamp(kind):
        return None if kind.tz is None else zone_of(kind.tz)
    parts = [kind.field(i).type for i in range(kind.num_fields)]
    return next(filter(None, map(_zone_within, parts)), None)
