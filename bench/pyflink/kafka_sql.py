"""Rows from one topic of Kafka to another, counted by Flink SQL without Python, until it is killed.

Argument: a file with a JSON object of `servers`, `source`, `target`, `jar` (the connector), `interval_s` and `folder`.
`key,number` becomes `key,number,count`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kafka_count import configuration
from pyflink.table import EnvironmentSettings, TableEnvironment


def main(orders: dict) -> None:
    settings = configuration(orders)
    settings.set_string("parallelism.default", "2")
    tables = TableEnvironment.create(EnvironmentSettings.new_instance().with_configuration(settings).build())
    servers = f"'properties.bootstrap.servers' = '{orders['servers']}'"
    tables.execute_sql(
        f"CREATE TABLE source (`value` STRING) WITH ('connector' = 'kafka', 'topic' = '{orders['source']}', {servers},"
        " 'format' = 'raw', 'scan.startup.mode' = 'earliest-offset', 'properties.group.id' = 'bench')"
    )
    tables.execute_sql(
        "CREATE TABLE target (`key` STRING, `value` STRING, PRIMARY KEY (`key`) NOT ENFORCED) WITH ("
        f"'connector' = 'upsert-kafka', 'topic' = '{orders['target']}', {servers},"
        " 'key.format' = 'raw', 'value.format' = 'raw', 'value.fields-include' = 'EXCEPT_KEY')"
    )
    tables.execute_sql(
        "INSERT INTO target SELECT k, CONCAT_WS(',', k, CAST(MAX(n) AS STRING), CAST(COUNT(*) AS STRING)) FROM"
        " (SELECT SPLIT_INDEX(`value`, ',', 0) AS k, CAST(SPLIT_INDEX(`value`, ',', 1) AS BIGINT) AS n FROM source)"
        " GROUP BY k"
    ).wait()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
