"""Queries of Nexmark in Flink SQL on RocksDB, one after the other; runs in a Python of its own, which has PyFlink.

Arguments: a file with a JSON object, and the file to put the result into. Of the object, `folder` is scratch space,
`mini_batch` says whether rows are gathered before state is touched, `parts` are two lists of Parquet files, to warm up
with and to measure, and each of `queries` is a name, the view `joined`, if it is not empty, and the query. A name that
comes again has the use of its last run. The input stays open, as a stream's: the second part appears in it when nothing
moves any more.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from keyed_sum import LOOK_MS, PATIENCE_S, ask, configuration, free_port
from pyflink.table import EnvironmentSettings, TableEnvironment
from snapline_bench import cpu

# Longer than a mini-batch waits.
QUIET_S = 4.0
COLUMNS = (
    "kind INT, millis BIGINT, id BIGINT, name STRING, email STRING, card STRING, city STRING, state STRING, "
    "item STRING, description STRING, initial_bid BIGINT, reserve BIGINT, expires_millis BIGINT, seller BIGINT, "
    "category BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING"
)
VIEWS = {
    "person": "id, name, email, card, city, state, `time`, extra",
    "auction": "id, item, description, initial_bid, reserve, TO_TIMESTAMP_LTZ(expires_millis, 3) AS expires, seller,"
    " category, `time`, extra",
    "bid": "auction, bidder, price, channel, url, `time`, extra",
}


class Run:
    """A query under way, and what Flink's REST interface says of it."""

    def __init__(self, folder: Path, view: str, query: str, mini_batch: bool) -> None:
        self._input = folder / "input"
        self._input.mkdir(parents=True)
        self._files = 0
        port = free_port()
        settings = configuration("thread", folder, port)
        settings.set_string("parallelism.default", "2")
        settings.set_string("table.local-time-zone", "UTC")
        if mini_batch:
            settings.set_string("table.exec.mini-batch.enabled", "true")
            settings.set_string("table.exec.mini-batch.allow-latency", "2 s")
            settings.set_string("table.exec.mini-batch.size", "50000")
        tables = TableEnvironment.create(EnvironmentSettings.new_instance().with_configuration(settings).build())
        tables.execute_sql(
            f"CREATE TABLE events ({COLUMNS}, `time` AS TO_TIMESTAMP_LTZ(millis, 3),"
            " WATERMARK FOR `time` AS `time` - INTERVAL '4' SECOND) WITH ('connector' = 'filesystem',"
            f" 'path' = '{self._input.as_uri()}', 'format' = 'parquet', 'source.monitor-interval' = '{LOOK_MS}ms')"
        )
        for kind, (name, columns) in enumerate(VIEWS.items()):
            tables.execute_sql(f"CREATE VIEW {name} AS SELECT {columns} FROM events WHERE kind = {kind}")
        if view:
            tables.execute_sql(f"CREATE VIEW joined AS {view}")
        types = tables.sql_query(query)._j_table.getResolvedSchema().getColumnDataTypes()
        texts = [kind.getLogicalType().copy(True).asSerializableString() for kind in types]
        columns = ", ".join(f"c{number} {text}" for number, text in enumerate(texts))
        tables.execute_sql(f"CREATE TABLE results ({columns}) WITH ('connector' = 'blackhole')")
        self._client = tables.execute_sql(f"INSERT INTO results {query}").get_job_client()
        self._url = f"http://localhost:{port}/jobs/{self._client.get_job_id()}"

    def work_off(self, files: list[str]) -> cpu.Usage:
        """What it used until the last row of these files moved."""
        before = cpu.read()
        for file in files:
            os.link(file, self._input / f"{self._files:012d}.parquet")
            self._files += 1
        counts, last, deadline = self._moved(), before, time.monotonic() + PATIENCE_S
        while last is before or time.monotonic() - last.at < QUIET_S:
            time.sleep(LOOK_MS / 1000)
            now = cpu.read()
            moved = self._moved()
            if moved != counts:
                counts, last = moved, now
            if self._client.get_job_status().result().name == "FAILED":
                self._client.get_job_execution_result().result()  # raises what it failed with
            if time.monotonic() > deadline:
                raise SystemExit("rows do not come to an end")
        return last.since(before)

    def cancel(self) -> None:
        self._client.cancel().result()

    def _moved(self) -> list[float]:
        """The rows that each task has had in and out."""
        found = []
        for vertex in ask(self._url).get("vertices", []):
            metrics = f"/vertices/{vertex['id']}/subtasks/metrics?get=numRecordsIn,numRecordsOut&agg=sum"
            found += [each["sum"] for each in ask(self._url, metrics)]
        return found


def main(orders: dict) -> dict:
    found = {}
    for number, (name, view, query) in enumerate(orders["queries"]):
        run = Run(Path(orders["folder"]) / f"{number}-{name}", view, query, orders["mini_batch"])
        warm_up, measured = orders["parts"]
        run.work_off(warm_up)
        found[name] = asdict(run.work_off(measured))
        run.cancel()
    return found


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(main(json.loads(Path(sys.argv[1]).read_text()))))
