"""What the function gives back: taken as it is when it is given, gathered, converted and sent in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from snapline.functions.errors import FunctionFailed
from snapline.functions.output_tag import OutputTag
from snapline.worker.columnar import conform, to_table
from snapline.worker.encode import ColumnEncoder, transpose
from snapline.worker.frames import OUTPUT_PART, ToOperator, Transport, message_of
from snapline.worker.pieces import LIMIT, Gauge, pieces
from snapline.worker.row_taker import EMITTED, RowTaker, TaggingTaker, meant_for_a_side_output


class Outputs:
    """Rows of the result and of the side outputs.

    Attributes:
        rows: the rows of the result, as ``taker`` takes them. A caller that appends one calls :meth:`flush_rows` when
            ``gauge`` says that they are full.
        gauge: the gauge of these rows' size.
        taker: the taker of these rows.
    """

    def __init__(
        self, schema: pa.Schema, columns: int, tags: Sequence[str], transport: Transport, most_bytes: int
    ) -> None:
        self._schema = schema
        self._transport = transport
        self._main = pa.schema([schema.field(i) for i in range(columns)])
        self._encoders = [ColumnEncoder(f"column {field.name}", field.type) for field in self._main]
        self._side_encoders = {tag: ColumnEncoder(f"side output {tag}", schema.field(tag).type) for tag in tags}
        what = "a row of the output"
        self.taker = TaggingTaker(what, self._main, self.emit) if tags else RowTaker(what, self._main)
        self._side_takers = {tag: _side_taker(schema.field(tag)) for tag in tags}
        self.rows: list[Any] = []
        self._sides: dict[str, list[Any]] = {tag: [] for tag in tags}
        self._batches: list[pa.RecordBatch] = []
        self._batch_rows = 0
        self._batch_bytes = 0
        self._most_bytes = most_bytes
        self.gauge = Gauge(most_bytes, self._main.types)
        self._side_gauges = {tag: Gauge(most_bytes, [schema.field(tag).type]) for tag in tags}

    def emit(self, tag: OutputTag, value: Any) -> None:
        """Takes a row of a side output."""
        rows = self._sides.get(tag.name)
        if rows is None:
            raise FunctionFailed(
                f"a row for side output {tag.name}, which the query does not have.",
                "give the tag to process(..., side_outputs=[tag]).",
            )
        rows.append(self._side_takers[tag.name].take(value))
        gauge = self._side_gauges[tag.name]
        if len(rows) >= gauge.limit and gauge.is_full(rows):
            self._flush_side(tag.name, rows)

    def extend(self, rows: Iterable[Any]) -> None:
        """Takes what a process method gave: rows, or data frames."""
        if (table := to_table(rows)) is not None:
            self._add_table(table)
            return
        for each in rows:
            if (table := to_table(each)) is not None:
                self._add_table(table)
            else:
                self.rows.append(self.taker.take(each))
                if len(self.rows) >= self.gauge.limit and self.gauge.is_full(self.rows):
                    self.flush_rows()

    def _add_table(self, table: pa.Table) -> None:
        for batch in conform(table, self._main).to_batches():
            self._batches.append(batch)
            self._batch_rows += batch.num_rows
            self._batch_bytes += batch.nbytes
        if self._batch_rows >= LIMIT or self._batch_bytes >= self._most_bytes:
            self._flush_batches()

    def emit_table(self, tag: OutputTag, value: Any) -> None:
        """Takes a data frame of a side output."""
        table = to_table(value)
        if tag.name not in self._sides or table is None:
            raise FunctionFailed(
                f"{type(value).__name__} for side output {tag.name}.",
                "give a data frame, and the tag to process(..., side_outputs=[tag]).",
            )
        schema = _fields(self._schema.field(tag.name).type)
        for batch in conform(table, schema).to_batches():
            self._send_side(tag.name, pa.StructArray.from_arrays(batch.columns, fields=list(schema)))

    def flush(self) -> None:
        """Sends all there is."""
        if self.rows:
            self.flush_rows()
        if self._batches:
            self._flush_batches()
        for tag, rows in self._sides.items():
            if rows:
                self._flush_side(tag, rows)

    def flush_rows(self) -> None:
        try:
            self._flush_rows()
        except FunctionFailed as e:
            tagged = next(filter(None, map(meant_for_a_side_output, self.rows)), None)
            if tagged is not None:
                raise tagged from e
            raise

    def _flush_rows(self) -> None:
        rows = [row for row in self.rows if row is not EMITTED] if self._sides else self.rows
        try:
            columns = transpose(rows, self._main.names)
        except (ValueError, TypeError) as e:
            raise FunctionFailed(f"a row of the output: {e}.", "yield rows that fit the schema of the output.") from e
        arrays = [encode(values) for encode, values in zip(self._encoders, columns, strict=True)]
        if rows:
            self._send_main(arrays, len(rows))
        self.rows.clear()
        self.gauge.reset()

    def _flush_batches(self) -> None:
        # Batches of one key each are small: they travel as one.
        whole = pa.Table.from_batches(self._batches, self._main).combine_chunks()
        for batch in whole.to_batches():
            self._send_main(batch.columns, batch.num_rows)
        self._batches.clear()
        self._batch_rows = 0
        self._batch_bytes = 0

    def _flush_side(self, tag: str, rows: list[Any]) -> None:
        self._send_side(tag, self._side_encoders[tag](rows))
        rows.clear()
        self._side_gauges[tag].reset()

    def _send_main(self, arrays: Sequence[pa.Array], count: int) -> None:
        rest = [pa.nulls(count, self._schema.field(i).type) for i in range(len(arrays), len(self._schema))]
        self._send([*arrays, *rest])

    def _send_side(self, tag: str, array: pa.Array) -> None:
        self._send([array if field.name == tag else pa.nulls(len(array), field.type) for field in self._schema])

    def _send(self, arrays: Sequence[pa.Array]) -> None:
        for batch in pieces(pa.record_batch(arrays, schema=self._schema), self._most_bytes, "a row of the output"):
            self._transport.send(ToOperator.OUTPUT, {}, [(OUTPUT_PART, message_of(batch))])


def _side_taker(field: pa.Field) -> RowTaker:
    return RowTaker(f"side output {field.name} is of type {field.type}", _fields(field.type))


def _fields(kind: pa.StructType) -> pa.Schema:
    return pa.schema([kind.field(i) for i in range(kind.num_fields)])
