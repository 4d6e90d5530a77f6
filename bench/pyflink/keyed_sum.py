"""A sum per key in PyFlink on RocksDB, for `keyed-few` and its like; runs in a Python of its own.

Arguments: a JSON object with `keys`, `entries` (0: a value state; else a map of so many per key), `rows`,
`warm_up_rows`, `mode` (`process` or `thread`) and `folder`; the file to put the result into.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyflink.common import Configuration, Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.table import StreamTableEnvironment
from snapline_bench import cpu

CHECKPOINT_INTERVAL = "10 s"
OUT = Types.ROW_NAMED(["key", "total"], [Types.LONG(), Types.LONG()])


class Sum(KeyedProcessFunction):
    def open(self, ctx: RuntimeContext) -> None:
        self.total = ctx.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, row, ctx):
        total = (self.total.value() or 0) + row[2]
        self.total.update(total)
        yield Row(row[0], total)


class SumByEntry(KeyedProcessFunction):
    def open(self, ctx: RuntimeContext) -> None:
        self.totals = ctx.get_map_state(MapStateDescriptor("totals", Types.LONG(), Types.LONG()))

    def process_element(self, row, ctx):
        total = (self.totals.get(row[1]) or 0) + row[2]
        self.totals.put(row[1], total)
        yield Row(row[0], total)


def run(sizes: dict, rows: int) -> None:
    """To the end. The rows are random, and made by Flink itself; their sums go nowhere."""
    env = StreamExecutionEnvironment.get_execution_environment(configuration(sizes))
    env.set_parallelism(2)
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(
        "CREATE TABLE events (`key` BIGINT, `entry` BIGINT, `value` BIGINT) WITH ('connector' = 'datagen',"
        f" 'number-of-rows' = '{rows}', 'fields.key.min' = '0', 'fields.key.max' = '{sizes['keys'] - 1}',"
        f" 'fields.entry.min' = '0', 'fields.entry.max' = '{max(1, sizes['entries']) - 1}',"
        " 'fields.value.min' = '0', 'fields.value.max' = '999')"
    )
    tables.execute_sql("CREATE TABLE sums (`key` BIGINT, total BIGINT) WITH ('connector' = 'blackhole')")
    events = tables.to_data_stream(tables.from_path("events"))
    sums = events.key_by(lambda row: row[0], Types.LONG()).process(SumByEntry() if sizes["entries"] else Sum(), OUT)
    tables.from_data_stream(sums).execute_insert("sums").wait()


def configuration(sizes: dict) -> Configuration:
    settings = {
        "python.execution-mode": sizes["mode"],
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "state.backend.type": "rocksdb",
        "execution.checkpointing.interval": CHECKPOINT_INTERVAL,
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": Path(sizes["folder"]).as_uri(),
    }
    made = Configuration()
    for name, value in settings.items():
        made.set_string(name, value)
    return made


def main(sizes: dict, result: Path) -> None:
    run(sizes, sizes["warm_up_rows"])
    before, began = cpu.read(), time.monotonic()
    run(sizes, sizes["rows"])
    wall, usage = time.monotonic() - began, cpu.read().since(before)
    figures = {
        "cpu_us_row": usage.cpu_s / sizes["rows"] * 1e6,
        "wall_us_row": wall / sizes["rows"] * 1e6,
        "wall_ms": wall * 1e3,
        "rows": sizes["rows"],
        "others": usage.others,
    }
    result.write_text(json.dumps(figures))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
