"""The two ways a scenario is run. Both give, for each micro-batch, what each key put out, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import key_by, main_output, side_output
from snapline.state.ddl import parse_schema
from snapline.stream.broadcasting import BroadcastStream
from snapline.testing import Bounds, KeyedTestHarness, ProcessTestHarness

from .scenario import Scenario

Result = list[dict[Any, list[Any]]]


def plain(value: Any) -> Any:
    """Rows of either side as tuples, so that they compare."""
    if isinstance(value, tuple | list):
        kind = tuple if isinstance(value, tuple) else list
        return kind(plain(each) for each in value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return bytes(value) if isinstance(value, bytearray) else value


def by_key(rows: list[Any]) -> dict[Any, list[Any]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(plain(tuple(row)))
    return dict(groups)


def tags_of(scenario: Scenario) -> list[str]:
    return [tag.name for tag in scenario.side_outputs] + ([scenario.late_output] if scenario.late_output else [])


def in_harness(scenario: Scenario) -> tuple[Result, dict[str, list[Any]]]:
    names = {"cache.max-keys": "max_keys", "chunk-rows": "chunk_rows", "max-prefetch": "max_prefetch"}
    bounds = Bounds(**{names[name]: value for name, value in scenario.bounds})
    if not scenario.key:
        return in_process_harness(scenario, bounds)
    harness = keyed_harness(scenario, bounds)
    results = []
    with harness:
        watermark = None
        for batch, rules in zip_longest(scenario.batches, scenario.broadcasts, fillvalue=()):
            rows = list(harness.process_batch(batch, rules))
            if scenario.event_time is not None:
                at = parse_schema(scenario.schema, "the schema").names.index(scenario.event_time)
                newest = max(row[at] for row in batch) - scenario.delay
                watermark = newest if watermark is None else max(watermark, newest)
                rows += harness.advance_watermark(watermark)
            results.append(by_key(rows))
        sides = {tag: sorted(plain(tuple(row)) for row in harness.side_output(tag)) for tag in tags_of(scenario)}
    return results, sides


def keyed_harness(scenario: Scenario, bounds: Bounds) -> KeyedTestHarness:
    if scenario.windows is not None:
        return KeyedTestHarness.of_stream(
            scenario.windows,
            key=scenario.key,
            schema=scenario.schema,
            event_time=scenario.event_time,
            bounds=bounds,
        )
    return KeyedTestHarness(
        scenario.make(),
        key=scenario.key,
        schema=scenario.schema,
        output=scenario.output,
        event_time=scenario.event_time,
        side_outputs=scenario.side_outputs,
        late_output=scenario.late_output,
        broadcast=scenario.broadcast,
        bounds=bounds,
    )


def in_process_harness(scenario: Scenario, bounds: Bounds) -> tuple[Result, dict[str, list[Any]]]:
    harness = ProcessTestHarness(
        scenario.make(),
        schema=scenario.schema,
        output=scenario.output,
        parallelism=2,
        side_outputs=scenario.side_outputs,
        broadcast=scenario.broadcast,
        bounds=bounds,
    )
    pairs = zip_longest(scenario.batches, scenario.broadcasts, fillvalue=())
    results = [by_key(harness.process_batch(batch, partition=0, broadcast=rules)) for batch, rules in pairs]
    return results, {tag: sorted(plain(tuple(row)) for row in harness.side_output(tag)) for tag in tags_of(scenario)}


class Sink(Protocol):
    """The micro-batches of a query."""

    def writer(self) -> Callable[[DataFrame, int], None]:
        """For ``foreachBatch``."""

    def take(self, tag: str | None) -> list[Any]:
        """Rows of the side output, or of the main one, of the micro-batches since the last call for it."""


class InMemory:
    """In the process of the query."""

    def __init__(self, tags: Sequence[str]) -> None:
        self.rows: dict[str | None, list[Any]] = {tag: [] for tag in (None, *tags)}

    def writer(self) -> Callable[[DataFrame, int], None]:
        def collect(batch: DataFrame, _: int) -> None:
            batch.persist()
            for tag, into in self.rows.items():
                into.extend((main_output(batch) if tag is None else side_output(batch, tag)).collect())
            batch.unpersist()

        return collect

    def take(self, tag: str | None) -> list[Any]:
        taken, self.rows[tag] = self.rows[tag], []
        return taken


def in_spark(
    scenario: Scenario, spark: SparkSession, folder: Path, sink: Sink | None = None
) -> tuple[Result, dict[str, list[Any]]]:
    sink = sink or InMemory(tags_of(scenario))
    for name, value in scenario.bounds:
        spark.conf.set(f"spark.snapline.python.{name}", value)
    source, checkpoint = folder / "source", folder / "checkpoint"
    source.mkdir()
    frame: DataFrame = spark.readStream.schema(scenario.schema).parquet(str(source))
    if scenario.event_time is not None:
        frame = frame.withWatermark(scenario.event_time, f"{int(scenario.delay / timedelta(seconds=1))} seconds")
    rules = folder / "rules"
    rules.mkdir()
    result = planned(scenario, frame, rules, spark)
    sides: dict[str, list[Any]] = {tag: [] for tag in tags_of(scenario)}
    writer = result.writeStream.outputMode("update").option("checkpointLocation", str(checkpoint))
    writer.foreachBatch(sink.writer())
    query = None
    results = []
    try:
        for batch, broadcast in zip_longest(scenario.batches, scenario.broadcasts, fillvalue=()):
            spark.createDataFrame(batch, scenario.schema).coalesce(1).write.mode("append").parquet(str(source))
            if scenario.broadcast is not None and broadcast:
                # Both are there before the query looks: they are of one micro-batch.
                assert query is None
                more = spark.createDataFrame(broadcast, scenario.broadcast.schema)
                more.repartition(3).write.mode("append").parquet(str(rules))
            if query is None:
                query = writer.start()
            query.processAllAvailable()
            results.append(by_key(sink.take(None)))
            for tag, into in sides.items():
                into.extend(plain(tuple(row)) for row in sink.take(tag))
            if scenario.restart:
                query.stop()
                query = None
    finally:
        if query is not None:
            query.stop()
        for name, _ in scenario.bounds:
            spark.conf.unset(f"spark.snapline.python.{name}")
    return results, {tag: sorted(found) for tag, found in sides.items()}


def planned(scenario: Scenario, frame: DataFrame, rules: Path, spark: SparkSession) -> DataFrame:
    if scenario.windows is not None:
        return scenario.windows(key_by(frame, *scenario.key))  # type: ignore[no-any-return]
    function, output, sides = scenario.make(), scenario.output, scenario.side_outputs
    if scenario.broadcast is not None:
        stream = spark.readStream.schema(scenario.broadcast.schema).parquet(str(rules))
        broadcast = BroadcastStream(stream, scenario.broadcast)
        if not scenario.key:
            return snapline.connect(frame, broadcast).process(function, output, parallelism=2, side_outputs=sides)
        return key_by(frame, *scenario.key).connect(broadcast).process(function, output, side_outputs=sides)
    if not scenario.key:
        return snapline.process(frame, function, output, parallelism=2, side_outputs=sides)
    return key_by(frame, *scenario.key).process(function, output, side_outputs=sides, late_output=scenario.late_output)
