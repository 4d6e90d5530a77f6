"""A stream to which a test adds rows while a micro-batch lasts, and functions that write down at once all they see."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import snapline

PATIENCE = 120.0
LONG = "1 hour"
"""A micro-batch that no test sees the end of."""
SCHEMA = "k string, n long"


class Rows:
    """Rows of a key and a number. They are in this process: a query that starts again reads them again."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.seen = folder / "seen"
        self.seen.touch()
        java: Any = spark._jvm
        streams = java.org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream
        self._source = streams.apply(spark._jsparkSession, 2, java.org.apache.spark.sql.Encoders.STRING())
        self._seq = java.PythonUtils.toSeq

    @property
    def df(self) -> DataFrame:
        parts = DataFrame(self._source.toDF(), self.spark).selectExpr("split(value, ',') AS p")
        return parts.selectExpr("p[0] AS k", "bigint(p[1]) AS v")

    def add(self, *rows: tuple[str, int]) -> None:
        self._source.addData(self._seq([f"{k},{v}" for k, v in rows]))

    def writer(self, results: DataFrame, lasts: str = LONG, sink: str = "memory") -> Any:
        writer: Any = results.writeStream.outputMode("update").format(sink).queryName("out")
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(realTime=lasts)

    def start(self, function: Any, lasts: str = LONG, **more: Any) -> snapline.SupervisedQuery:
        """Into a sink from which a query goes on, as it does not with `memory`."""
        results = snapline.key_by(self.df, "k").process(function, SCHEMA)
        return snapline.start(self.writer(results, lasts, "console"), **more)

    def lines(self) -> list[str]:
        return self.seen.read_text().splitlines()

    def wait_for_lines(self, count: int) -> list[str]:
        wait_for(lambda: len(self.lines()) >= count, f"{count} lines")
        return self.lines()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"no {what} in {PATIENCE:.0f} s"
        time.sleep(0.02)


class Writing:
    """Writes lines at once: a test sees what a function has done while its micro-batch goes on."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def write(self, *words: object) -> None:
        with Path(self.path).open("a") as file:
            file.write(" ".join(map(str, words)) + "\n")


class Count(Writing, snapline.KeyedProcessFunction):
    """How many rows a key has had. Fails at a row of -1, if no line says that it has done so."""

    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int]]:
        if row.v == -1 and "failed" not in Path(self.path).read_text():
            self.write("failed")
            raise ValueError("as the test wants it")
        n = (self.n.value() or 0) + 1
        self.n.update(n)
        self.write(row.k, n)
        yield row.k, n


class Ring(Writing, snapline.KeyedProcessFunction):
    """A timer of the clock, so many milliseconds after each row."""

    def process_element(self, row: Any, ctx: Any) -> Sequence[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + row.v)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int]]:
        self.write("timer", ctx.get_current_key(), ctx.timer_service().current_processing_time() >= timestamp)
        yield ctx.get_current_key(), timestamp


class Remember(Writing, snapline.KeyedProcessFunction):
    """Whether a key has had a row in the last two seconds."""

    def open(self, ctx: Any) -> None:
        ttl = snapline.StateTtlConfig(timedelta(seconds=2))
        self.last = ctx.get_state(snapline.ValueStateDescriptor("last", "long", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Sequence[Any]:
        self.write(row.k, "new" if self.last.value() is None else "known")
        self.last.update(row.v)
        return ()
