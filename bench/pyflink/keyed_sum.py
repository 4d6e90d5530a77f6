"""A sum per key in PyFlink on RocksDB, for `keyed-few` and its like; runs in a Python of its own, which has PyFlink.

Arguments: a file with a JSON object, and the file to put the result into. Of the object, `mode` is `process` or
`thread`, `entries` says whether the state is a map, `windows_s` are the seconds of tumbling windows (0: none), `folder`
is scratch space, and `parts` are two lists of Parquet files with the number of rows in each: to warm up with, and to
measure. The input stays open, as a stream's: the second part appears in it when the last row of the first has been put
out.
"""

from __future__ import annotations

import json
import os
import re
import site
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from pyflink.common import Configuration, Row, Time, Types
from pyflink.datastream import AggregateFunction, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.table import StreamTableEnvironment
from snapline_bench import cpu

OUT = Types.ROW_NAMED(["key", "total"], [Types.LONG(), Types.LONG()])
# How often Flink looks for files and gathers its counters, and we ask for them.
LOOK_MS = 100
PATIENCE_S = 1800


class Sum(KeyedProcessFunction):
    def open(self, ctx: RuntimeContext) -> None:
        self.total = ctx.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, row, ctx):
        total = (self.total.value() or 0) + row[1]
        self.total.update(total)
        yield Row(row[0], total)


class SumByEntry(KeyedProcessFunction):
    def open(self, ctx: RuntimeContext) -> None:
        self.totals = ctx.get_map_state(MapStateDescriptor("totals", Types.LONG(), Types.LONG()))

    def process_element(self, row, ctx):
        total = (self.totals.get(row[1]) or 0) + row[2]
        self.totals.put(row[1], total)
        yield Row(row[0], total)


class Add(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class WithKey(ProcessWindowFunction):
    def process(self, key, context, elements):
        for total in elements:
            yield Row(key, total)


class Job:
    """The job under way, and what Flink's REST interface says of it."""

    def __init__(self, orders: dict) -> None:
        folder = Path(orders["folder"])
        self._input = folder / "input"
        self._input.mkdir(parents=True)
        port = free_port()
        env = StreamExecutionEnvironment.get_execution_environment(configuration(orders["mode"], folder, port))
        env.set_parallelism(2)
        tables = StreamTableEnvironment.create(env)
        tables.execute_sql(
            f"CREATE TABLE events (`key` BIGINT, `value` BIGINT, {MORE[orders['windows_s'] > 0]})"
            " WITH ('connector' = 'filesystem',"
            f" 'path' = '{self._input.as_uri()}', 'format' = 'parquet', 'source.monitor-interval' = '{LOOK_MS}ms')"
        )
        tables.execute_sql("CREATE TABLE sums (`key` BIGINT, total BIGINT) WITH ('connector' = 'blackhole')")
        self._counter = RECORDS_IN if orders["windows_s"] else RECORDS_OUT
        summed = windowed(tables, orders["windows_s"]) if orders["windows_s"] else keyed(tables, orders["entries"] > 0)
        self._client = tables.from_data_stream(summed).execute_insert("sums").get_job_client()
        self._url = f"http://localhost:{port}/jobs/{self._client.get_job_id()}"
        self._put_out = 0

    def work_off(self, files: list[str], rows: int) -> None:
        """To the last row that comes of them."""
        for number, file in enumerate(files):
            # A link appears whole.
            os.link(file, self._input / f"{self._put_out:012d}-{number:05d}.parquet")
        wanted, deadline = self._put_out + rows, time.monotonic() + PATIENCE_S
        while (found := self._rows_out()) < wanted:
            if self._client.get_job_status().result().name == "FAILED":
                self._client.get_job_execution_result().result()  # raises what it failed with
            if time.monotonic() > deadline:
                raise SystemExit(f"{found} of {wanted} rows put out, and no more come")
            time.sleep(LOOK_MS / 1000)
        if found > wanted:
            raise SystemExit(f"{found} rows put out instead of {wanted}")
        self._put_out = wanted

    def cancel(self) -> None:
        self._client.cancel().result()

    def _rows_out(self) -> int:
        """Put out by the function, or of windows taken in, in both partitions."""
        total = 0
        for vertex in ask(self._url).get("vertices", []):
            metrics = f"/vertices/{vertex['id']}/metrics"
            names = [f"{vertex['name']}: {each['id']}" for each in ask(self._url, metrics)]
            names = [name.rpartition(": ")[2] for name in names if self._counter.fullmatch(name)]
            if names:
                total += sum(int(each["value"]) for each in ask(self._url, f"{metrics}?get={','.join(names)}"))
        return total


def ask(job: str, path: str = ""):
    """Of Flink's REST interface, below the address of a job; empty as long as that has not begun."""
    try:
        with urllib.request.urlopen(job + path, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        if e.code in (404, 503):
            return {} if path == "" else []
        raise


# Of the chain's operators the function's own: the one that Python runs behind the shuffle.
RECORDS_OUT = re.compile(r".*: \d+\.KEYED[_ ]PROCESS\.numRecordsOut", re.IGNORECASE)
# A window puts a row out only when it is closed, and PyFlink does not count what its operator takes in: the task does.
RECORDS_IN = re.compile(r"\w*EventTimeWindows.*: \d+\.numRecordsIn")
MORE = {
    False: "`entry` BIGINT",
    True: "`millis` BIGINT, `t` AS TO_TIMESTAMP_LTZ(`millis`, 3), WATERMARK FOR `t` AS `t`",
}


def keyed(tables: StreamTableEnvironment, by_entry: bool):
    columns = "`key`, `entry`, `value`" if by_entry else "`key`, `value`"
    events = tables.to_data_stream(tables.sql_query(f"SELECT {columns} FROM events"))
    return events.key_by(lambda row: row[0], Types.LONG()).process(SumByEntry() if by_entry else Sum(), OUT)


def windowed(tables: StreamTableEnvironment, seconds: int):
    events = tables.to_data_stream(tables.sql_query("SELECT `key`, `value`, `t` FROM events"))
    windows = events.key_by(lambda row: row[0], Types.LONG()).window(TumblingEventTimeWindows.of(Time.seconds(seconds)))
    return windows.aggregate(Add(), WithKey(), Types.LONG(), OUT)


def configuration(mode: str, folder: Path, port: int) -> Configuration:
    settings = {
        "python.execution-mode": mode,
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        # The interpreter inside Flink's JVM looks in the folders of this one's installation, not of its environment.
        "python.pythonpath": os.pathsep.join(site.getsitepackages()),
        "restart-strategy.type": "none",
        "state.backend.type": "rocksdb",
        "taskmanager.memory.managed.size": "512m",
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder / "local"),
        "rest.bind-port": str(port),
        "rest.port": str(port),
        "rest.address": "localhost",
        "metrics.fetcher.update-interval": f"{LOOK_MS}ms",
    }
    (folder / "local").mkdir()
    made = Configuration()
    for name, value in settings.items():
        made.set_string(name, value)
    return made


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return taken.getsockname()[1]


def main(orders: dict, result: Path) -> None:
    job = Job(orders)
    (warm_up, warm_up_rows), (files, rows) = orders["parts"]
    job.work_off(warm_up, warm_up_rows)
    before = cpu.read()
    job.work_off(files, rows)
    usage = cpu.read().since(before)
    job.cancel()
    result.write_text(json.dumps({"elapsed_s": usage.elapsed_s, "cpu_s": usage.cpu_s, "others": usage.others}))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
