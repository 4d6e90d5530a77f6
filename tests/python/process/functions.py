"""Functions with operator state."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snapline import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ProcessFunction,
    ValueStateDescriptor,
)

#: How many sequences the counters share out.
SPLITS = 5


class CountingSource(ProcessFunction, CheckpointedFunction):
    """Flink's example of a source: each row has it emit the next number of each of its sequences."""

    def initialize_state(self, ctx: Any) -> None:
        self.state = ctx.get_operator_state_store().get_list_state(
            ListStateDescriptor("positions", "struct<split: int, next: long>")
        )
        if ctx.is_restored():
            self.positions = {position.split: position.next for position in self.state.get()}
        else:
            mine = range(ctx.get_index_of_this_subtask(), SPLITS, ctx.get_number_of_parallel_subtasks())
            self.positions = dict.fromkeys(mine, 0)

    def open(self, ctx: Any) -> None:
        self.subtask = ctx.get_index_of_this_subtask()

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        for split, following in self.positions.items():
            yield self.subtask, split, following
            self.positions[split] = following + 1

    def snapshot_state(self, ctx: Any) -> None:
        self.state.update(sorted(self.positions.items()))


class Spins(ProcessFunction):
    """Never comes back from its first row, and has written down which process it is."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def process_element(self, row: Any, ctx: Any) -> None:
        spinner = Path(self.folder) / "spinner"
        spinner.mkdir(exist_ok=True)
        (spinner / str(os.getpid())).touch()
        while True:
            pass


class EveryKind(ProcessFunction, CheckpointedFunction):
    """Adds the row's number to a list, a union list and raw state, and keeps the count of a broadcast state."""

    def initialize_state(self, ctx: Any) -> None:
        store = ctx.get_operator_state_store()
        self.split = store.get_list_state(ListStateDescriptor("split", "long"))
        self.union = store.get_union_list_state(ListStateDescriptor("union", "long"))
        self.same = store.get_broadcast_state(MapStateDescriptor("same", "string", "long"))
        self.raw = [pickle.load(part) for part in ctx.get_raw_operator_state_inputs()]
        self.restored = ctx.is_restored()
        if not self.restored:
            self.same["version"] = 1

    def open(self, ctx: Any) -> None:
        self.subtask = ctx.get_index_of_this_subtask()

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield self.subtask, row.v, list(self.split), list(self.union), list(self.raw), self.same.get("version")
        if row.v >= 0:
            self.split.add(row.v)
            self.union.add(row.v)
            self.raw.append(row.v)

    def snapshot_state(self, ctx: Any) -> None:
        out = ctx.get_raw_operator_state_output()
        for value in self.raw:
            out.start_new_partition()
            pickle.dump(value, out)


class Plain(ProcessFunction):
    """No state."""

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield (row.v + 1,)


class Table(ProcessFunction):
    """Columns at once."""

    def process_batch(self, batch: pa.RecordBatch, ctx: Any) -> pa.RecordBatch:
        doubled = pc.multiply(batch.column("v"), 2)
        return pa.record_batch([doubled, pa.array([len(batch)] * len(batch))], names=["v", "rows"])


class Typed(ProcessFunction, CheckpointedFunction):
    """Elements with fields."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def initialize_state(self, ctx: Any) -> None:
        self.state = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("rows", self.kind))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield (str(self.state.get()),)
        fields = 3 if "more" in self.kind else 2
        self.state.add((row.v, datetime(2024, 1, 1), None)[:fields])

    def snapshot_state(self, ctx: Any) -> None:
        pass


RULES = MapStateDescriptor("rules", "string", "long")
LAST = ValueStateDescriptor("last", "long")
SEEN = ListStateDescriptor("seen", "long")
PER = MapStateDescriptor("per", "string", "long")


class Rules(KeyedBroadcastProcessFunction):
    """Rules multiply; a rule of 0 is taken back; the rule 'add' adds its value to the state of all keys."""

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(LAST)
        self.seen = ctx.get_list_state(SEEN)
        self.per = ctx.get_map_state(PER)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        rules = ctx.get_broadcast_state(RULES)
        factor = rules.get(row.rule, 1)
        yield row.k, row.v, row.v * factor, self.last.value(), list(self.seen.get()), dict(self.per.items()), len(rules)
        self.last.update(row.v)
        self.seen.add(row.v)
        self.per[row.rule] = row.v

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]] | None:
        rules = ctx.get_broadcast_state(RULES)
        if row.rule == "add":
            ctx.apply_to_keyed_state(LAST, lambda key, state: state.update(state.value() + row.v))
            ctx.apply_to_keyed_state(SEEN, lambda key, state: state.add(key))
            ctx.apply_to_keyed_state(PER, lambda key, state: state.put("add", row.v))
        elif row.rule == "forget":
            ctx.apply_to_keyed_state(LAST, lambda key, state: state.clear())
        elif row.v == 0:
            rules.remove(row.rule)
        else:
            rules[row.rule] = rules.get(row.rule, 0) * 10 + row.v
        return None


class UnkeyedRules(BroadcastProcessFunction):
    """What the rules are, for each row; and each broadcast row, from each partition."""

    def open(self, ctx: Any) -> None:
        self.subtask = ctx.get_index_of_this_subtask()

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield self.subtask, row.v, dict(ctx.get_broadcast_state(RULES).items()), None

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        rules = ctx.get_broadcast_state(RULES)
        rules[row.rule] = rules.get(row.rule, 0) * 10 + row.v
        yield self.subtask, row.v, None, row.rule


class Crooked(UnkeyedRules):
    """Keeps in the broadcast state what differs by partition."""

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        ctx.get_broadcast_state(RULES)[row.rule] = row.v + (self.subtask == 2)
        return iter(())
