"""A function with state that every test of this folder runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from snapline import KeyedProcessFunction, ValueStateDescriptor


class Sum(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.get_state(ValueStateDescriptor("total", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + row.v
        self.total.update(total)
        yield row.k, total
