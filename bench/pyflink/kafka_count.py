"""Rows from one topic of Kafka to another through a keyed function that counts, in PyFlink's own Python, until killed.

Argument: a file with a JSON object of `servers`, `source`, `target`, `jar` (the connector), `interval_s` and `folder`.
`key,number` becomes `key,number,count`.
"""

from __future__ import annotations

import json
import os
import site
import sys
from pathlib import Path

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, ctx: RuntimeContext) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, row, ctx):
        n = (self.count.value() or 0) + 1
        self.count.update(n)
        yield f"{row},{n}"


def configuration(orders: dict) -> Configuration:
    folder = Path(orders["folder"])
    settings = {
        "python.execution-mode": "thread",
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        # The interpreter inside Flink's JVM looks in the folders of this one's installation, not of its environment.
        "python.pythonpath": os.pathsep.join(site.getsitepackages()),
        "pipeline.jars": Path(orders["jar"]).as_uri(),
        "restart-strategy.type": "none",
        "state.backend.type": "rocksdb",
        "taskmanager.memory.managed.size": "512m",
        "execution.buffer-timeout.interval": "1 ms",
        "execution.checkpointing.interval": f"{orders['interval_s']} s",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder),
    }
    made = Configuration()
    for name, value in settings.items():
        made.set_string(name, value)
    return made


def main(orders: dict) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(configuration(orders))
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(orders["servers"])
        .set_topics(orders["source"])
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    values = KafkaRecordSerializationSchema.builder().set_topic(orders["target"])
    values = values.set_value_serialization_schema(SimpleStringSchema()).build()
    sink = KafkaSink.builder().set_bootstrap_servers(orders["servers"]).set_record_serializer(values).build()
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
    counted = rows.key_by(lambda row: row.split(",")[0], Types.STRING()).process(Count(), Types.STRING())
    counted.sink_to(sink)
    env.execute()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
