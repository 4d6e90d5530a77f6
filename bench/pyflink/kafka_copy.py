"""Rows from one topic of Kafka to another in Flink SQL, exactly once, until it is killed; in PyFlink's own Python.

Argument: a file with a JSON object of `servers`, `source`, `target`, `jar` (the connector), `interval_s` and `folder`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment


def table(name: str, orders: dict, topic: str, more: str) -> str:
    return (
        f"CREATE TABLE {name} (`key` STRING, `value` STRING) WITH ('connector' = 'kafka', 'topic' = '{topic}',"
        f" 'properties.bootstrap.servers' = '{orders['servers']}', 'key.format' = 'raw', 'key.fields' = 'key',"
        f" 'value.format' = 'raw', 'value.fields-include' = 'EXCEPT_KEY', {more})"
    )


def main(orders: dict) -> None:
    folder = Path(orders["folder"])
    settings = {
        "parallelism.default": "2",
        "pipeline.jars": Path(orders["jar"]).as_uri(),
        "restart-strategy.type": "none",
        "execution.checkpointing.interval": f"{orders['interval_s']} s",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder),
    }
    made = Configuration()
    for name, value in settings.items():
        made.set_string(name, value)
    tables = TableEnvironment.create(EnvironmentSettings.new_instance().with_configuration(made).build())
    earliest = "'scan.startup.mode' = 'earliest-offset', 'properties.group.id' = 'bench'"
    # The broker allows no transaction as long as Flink asks for by default.
    once = (
        "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'bench',"
        " 'properties.transaction.timeout.ms' = '600000'"
    )
    tables.execute_sql(table("source", orders, orders["source"], earliest))
    tables.execute_sql(table("target", orders, orders["target"], once))
    tables.execute_sql("INSERT INTO target SELECT * FROM source").wait()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
