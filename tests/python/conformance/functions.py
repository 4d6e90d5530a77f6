"""The functions that harness and operator have to agree on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from snapline import (
    PICKLED,
    AggregateFunction,
    AggregatingStateDescriptor,
    BroadcastProcessFunction,
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ReducingStateDescriptor,
    StateTtlConfig,
    TtlTime,
    ValueStateDescriptor,
)

ODD = OutputTag("odd", "v long, note string")


class Everything(KeyedProcessFunction):
    """Each state, read and written with every row."""

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(ValueStateDescriptor("last", "long"))
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, "long"))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", "long"))
        self.per = ctx.get_map_state(MapStateDescriptor("per", "string", "long"))
        self.mean = ctx.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), "struct<sum:long,count:long>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        before = self.last.value()
        if row.v % 5 == 0:
            self.last.clear()
        else:
            self.last.update(row.v)
        self.total.add(row.v)
        if row.v % 7 == 0:
            self.seen.clear()
        self.seen.add(row.v)
        bucket = f"b{row.v % 3}"
        if row.v % 4 == 0 and bucket in self.per:
            del self.per[bucket]
        else:
            self.per[bucket] = self.per.get(bucket, 0) + 1
        self.mean.add(row.v)
        yield row.k, row.v, before, self.total.get(), list(self.seen.get()), dict(self.per.items()), self.mean.get()


class Mean(AggregateFunction[int, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Alarms(KeyedProcessFunction):
    """Timers that beget and delete timers."""

    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        timers.register_event_time_timer(row.t + timedelta(minutes=row.v))
        if row.v % 3 == 0:
            timers.delete_event_time_timer(row.t + timedelta(minutes=2))
        yield row.k, "row", row.t, self.count.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        minute = timestamp // 60_000
        self.count.update((self.count.value() or 0) + 100)
        if minute % 2 == 0:
            ctx.timer_service().register_event_time_timer(timestamp + 60_000)
        if minute % 5 == 0:
            ctx.timer_service().delete_event_time_timer(timestamp + 120_000)
        yield (
            ctx.get_current_key(),
            "timer",
            datetime(1970, 1, 1) + timedelta(milliseconds=timestamp),
            self.count.value(),
        )


class Forgetful(KeyedProcessFunction):
    """States that live ten minutes of event time."""

    def open(self, ctx: Any) -> None:
        ttl = StateTtlConfig(timedelta(minutes=10), time=TtlTime.EVENT_TIME)
        self.last = ctx.get_state(ValueStateDescriptor("last", "long", ttl=ttl))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", "long", ttl=ttl))
        self.per = ctx.get_map_state(MapStateDescriptor("per", "long", "long", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield row.k, row.v, self.last.value(), list(self.seen.get()), dict(self.per.items())
        self.last.update(row.v)
        self.seen.add(row.v)
        self.per[row.v % 2] = row.v


class Spread(KeyedProcessFunction):
    """A side output, and rows that are late."""

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        if row.v % 2:
            ctx.output(ODD, (row.v, f"of {row.k}"))
        else:
            yield row.k, row.v


class WholeKey(KeyedProcessFunction):
    """All rows of a key in a micro-batch at once."""

    def open(self, ctx: Any) -> None:
        self.batches = ctx.get_state(ValueStateDescriptor("batches", "long"))

    def process_batch(self, key: Any, batch: pa.RecordBatch, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.batches.update((self.batches.value() or 0) + 1)
        yield key, self.batches.value(), batch.num_rows, sum(batch.column("v").to_pylist())


class Columns(KeyedProcessFunction):
    """Many keys at once; a running sum."""

    def open(self, ctx: Any) -> None:
        ctx.get_state(ValueStateDescriptor("sum", "long"))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        before = state.value("sum").fill_null(0).to_numpy(zero_copy_only=False)
        sums = before.copy()
        np.add.at(sums, state.key_index, batch.column("v").to_numpy())
        state.update("sum", pa.array(sums))
        return pa.record_batch([state.keys.column(0), pa.array(sums)], names=["k", "sum"])


class Windows(KeyedProcessFunction):
    """Namespaces: a count and a sum per window and key."""

    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", "long", namespace="long"))
        self.sum = ctx.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, "long", namespace="long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        window = row.v // 10
        self.count.set_current_namespace(window)
        self.sum.set_current_namespace(window)
        self.count.update((self.count.value() or 0) + 1)
        self.sum.add(row.v)
        yield row.k, window, self.count.value(), self.sum.get()


class Types(KeyedProcessFunction):
    """Every kind of value, as it came, and from the state."""

    def open(self, ctx: Any) -> None:
        self.row = ctx.get_state(ValueStateDescriptor("row", ROW))
        self.thing = ctx.get_state(ValueStateDescriptor("thing", PICKLED))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        before = self.row.value()
        things = self.thing.value() or frozenset()
        self.row.update((row.t, row.d, row.x, row.s, row.a, row.m, row.n))
        self.thing.update(things | {row.s})
        yield (row.k, *(before or (None,) * 7), len(things))


ROW = "struct<t:timestamp,d:date,x:decimal(10,2),s:string,a:array<int>,m:map<string,double>,n:struct<b:binary,f:float>>"


class ByEntry(KeyedProcessFunction):
    """A map whose entries are looked up by a column of the rows."""

    def open(self, ctx: Any) -> None:
        self.per = ctx.get_map_state(MapStateDescriptor("per", "long", "long", entry="v"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.per[row.v] = self.per.get(row.v, 0) + 1
        other = self.per.get(row.v + 1)
        if row.v % 6 == 5:
            self.per.remove(row.v)
        yield row.k, row.v, self.per.get(row.v), other


PRICES = MapStateDescriptor("prices", "string", "struct<price: long, at: long>")
NAMES = MapStateDescriptor("names", "struct<a: int, b: string>", PICKLED)
SPENT = ReducingStateDescriptor("spent", lambda a, b: a + b, "long")
BOUGHT = ListStateDescriptor("bought", "string")
PER = MapStateDescriptor("per", "string", "long")


class Prices(KeyedBroadcastProcessFunction):
    """Broadcast rows set and take back prices, and reach into the state of all keys."""

    def open(self, ctx: Any) -> None:
        self.spent = ctx.get_reducing_state(SPENT)
        self.bought = ctx.get_list_state(BOUGHT)
        self.per = ctx.get_map_state(PER)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        found = ctx.get_broadcast_state(PRICES).get(row.what)
        price = 1 if found is None else found.price
        self.spent.add(row.v * price)
        self.bought.add(row.what)
        self.per[row.what] = self.per.get(row.what, 0) + row.v
        names = sorted(ctx.get_broadcast_state(NAMES).values(), key=str)
        yield row.k, row.what, self.spent.get(), list(self.bought.get()), dict(self.per.items()), str(names)

    def process_broadcast_element(self, row: Any, ctx: Any) -> None:
        prices, names = ctx.get_broadcast_state(PRICES), ctx.get_broadcast_state(NAMES)
        if row.price == 0:
            prices.remove(row.what)
            ctx.apply_to_keyed_state(BOUGHT, lambda key, state: state.add(f"no {row.what} for {key}"))
        elif row.price < 0:
            prices.clear()
            ctx.apply_to_keyed_state(SPENT, lambda key, state: state.add(1000))
            ctx.apply_to_keyed_state(PER, lambda key, state: state.put("sale", key))
        else:
            prices[row.what] = (row.price, row.at)
        names[row.price, row.what] = (row.what, [row.at])


class Kept(ProcessFunction, CheckpointedFunction):
    """Each kind of operator state, read and written with every row."""

    def initialize_state(self, ctx: Any) -> None:
        store = ctx.get_operator_state_store()
        self.rows = store.get_list_state(ListStateDescriptor("rows", "struct<v: long, tags: array<string>>"))
        self.things = store.get_union_list_state(ListStateDescriptor("things", PICKLED))
        self.count = store.get_broadcast_state(MapStateDescriptor("count", "string", "long"))
        self.raw = b"".join(part.read() for part in ctx.get_raw_operator_state_inputs())
        self.restored = ctx.is_restored()

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield row.k, row.v, self.restored, str(list(self.rows)), str(list(self.things)), len(self.raw)
        self.rows.add((row.v, [f"{row.k}", None]))
        if row.v % 7 == 0:
            self.rows.clear()
        if row.v % 5 == 0:
            self.rows.update(list(self.rows)[1:])
        self.things.add({row.v})
        self.raw += bytes([row.v])

    def snapshot_state(self, ctx: Any) -> None:
        out = ctx.get_raw_operator_state_output()
        for i in range(0, len(self.raw), 9):
            out.start_new_partition()
            out.write(self.raw[i : i + 9])


class UnkeyedPrices(BroadcastProcessFunction):
    """The same rows, without a key; broadcast rows are put out by each partition."""

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield row.k, row.what, sorted(ctx.get_broadcast_state(PRICES).items())

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        ctx.get_broadcast_state(PRICES)[row.what] = (row.price, row.at)
        yield -1, row.what, [(row.what, (row.price, row.at))]


class Numbered(KeyedProcessFunction, CheckpointedFunction):
    """A key's rows and timers, numbered over all keys of the partition."""

    def initialize_state(self, ctx: Any) -> None:
        self.numbers = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("numbers", "long"))
        self.number = sum(self.numbers.get())

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(ValueStateDescriptor("last", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.number += 1
        yield row.k, row.v, self.last.value(), self.number
        self.last.update(row.v)
        ctx.timer_service().register_event_time_timer(row.t)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.number += 100

    def snapshot_state(self, ctx: Any) -> None:
        self.numbers.update([self.number])
