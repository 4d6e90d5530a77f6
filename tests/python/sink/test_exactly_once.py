from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.errors import InvalidConfiguration
from snapline.plan.logical_plan import WriterSettings

from .queries import forget_commit, give, run, stream


def url_of(folder: Path) -> str:
    """Derby is what Spark ships."""
    return f"jdbc:derby:{folder / 'database'};create=true"


def table(spark: SparkSession, url: str, name: str = "totals") -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.read.jdbc(url, name).collect())


def writer_of(df: DataFrame, checkpoint: Path, mode: str = "append") -> Any:
    return df.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))


def test_a_table_has_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    url, checkpoint = url_of(tmp_path), tmp_path / "checkpoint"

    def start() -> Any:
        rows = stream(spark, tmp_path / "input")
        return run(snapline.exactly_once(writer_of(rows, checkpoint)).jdbc(url, "totals"))

    for batch in range(3):
        give(tmp_path / "input", str(batch), [(k, batch) for k in range(4)])
        start()
        forget_commit(checkpoint, batch)
        again = start()
        assert again.lastProgress["sink"]["metrics"]["rowsSkipped"] == "4"
        assert again.lastProgress["sink"]["description"] == "snapline-jdbc totals"
    assert table(spark, url) == sorted((k, batch) for batch in range(3) for k in range(4))
    assert {row[2] for row in table(spark, url, "snapline_markers")} == {2}


def test_two_sinks_of_one_batch(spark: SparkSession, tmp_path: Path) -> None:
    url, checkpoint = url_of(tmp_path), tmp_path / "checkpoint"

    def write(df: DataFrame, batch: int) -> None:
        for name, rows in (("even", df.where("k % 2 = 0")), ("odd", df.where("k % 2 = 1"))):
            options = {"url": url, "dbtable": "totals", "sink": name}
            rows.write.format("snapline-jdbc").options(**options).mode("append").save()

    give(tmp_path / "input", "0", [(k, 0) for k in range(5)])
    for _ in range(2):
        run(writer_of(stream(spark, tmp_path / "input"), checkpoint).foreachBatch(write))
        assert table(spark, url) == [(k, 0) for k in range(5)]
        forget_commit(checkpoint, 0)


def test_two_sinks_of_one_name_in_a_batch_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    url = url_of(tmp_path)

    def write(df: DataFrame, batch: int) -> None:
        for _ in range(2):
            df.write.format("snapline-jdbc").options(url=url, dbtable="totals").mode("append").save()

    give(tmp_path / "input", "0", [(1, 0)])
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*a second time as sink totals"):
        run(writer_of(stream(spark, tmp_path / "input"), tmp_path / "checkpoint").foreachBatch(write))


def test_a_folder_that_is_older_than_the_sink_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    url, checkpoint = url_of(tmp_path), tmp_path / "checkpoint"

    def start(**options: str) -> None:
        rows = stream(spark, tmp_path / "input")
        run(snapline.exactly_once(writer_of(rows, checkpoint)).jdbc(url, "totals", **options))

    for batch in range(2):
        give(tmp_path / "input", str(batch), [(1, batch)])
        start()
    for batch in range(2):
        forget_commit(checkpoint, batch)
    for path in (checkpoint / "offsets").glob("*1*"):
        path.unlink()
    with pytest.raises(Exception, match=r"SNAPLINE-INCOMPATIBLE.*goes on with batch 0.*rewrite to 0"):
        start()
    start(rewrite="0")
    assert table(spark, url) == [(1, 0), (1, 0), (1, 1), (1, 1)]


@pytest.mark.parametrize("function", [False, True], ids=["exactly_once", "foreachBatch"])
def test_a_savepoint_is_taken_when_the_sink_has_whole_batches(
    spark: SparkSession, tmp_path: Path, function: bool
) -> None:
    url, checkpoint = url_of(tmp_path), tmp_path / "checkpoint"

    def write(df: DataFrame, batch: int) -> None:
        df.write.format("snapline-jdbc").options(url=url, dbtable="totals").mode("append").save()

    def writer(folder: Path) -> Any:
        counts = writer_of(snapline.key_by(stream(spark, tmp_path / "input"), "k").sum("v"), folder)
        return counts.foreachBatch(write) if function else snapline.exactly_once(counts).jdbc(url, "totals")

    give(tmp_path / "input", "0", [(k, 1) for k in range(4)])
    query = snapline.start(writer(checkpoint))
    query.processAllAvailable()
    query.stop()
    forget_commit(checkpoint, 0)
    query = snapline.start(writer(checkpoint).trigger(processingTime="1 hour"))
    query.stop_with_savepoint(str(tmp_path / "savepoint"))
    give(tmp_path / "input", "1", [(k, 1) for k in range(4)])
    after = writer(tmp_path / "after").trigger(availableNow=True)
    snapline.start(after, from_savepoint=str(tmp_path / "savepoint")).awaitTermination()
    assert table(spark, url) == sorted((k, n) for k in range(4) for n in (1, 2))


def test_rows_that_may_differ_are_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    rows = stream(spark, tmp_path / "input").withColumn("v", F.rand())
    with pytest.raises(InvalidConfiguration, match=r"rand.*forced=True"):
        snapline.exactly_once(rows.writeStream)
    assert snapline.exactly_once(rows.writeStream, forced=True) is not None
    socket = spark.readStream.format("socket").option("host", "x").option("port", 1).load()
    with pytest.raises(InvalidConfiguration, match="cannot be read twice"):
        snapline.exactly_once(socket.writeStream)


def test_a_batch_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1).write.format("snapline-jdbc").options(url=url_of(tmp_path), dbtable="totals")
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*only micro-batches have numbers"):
        rows.mode("append").save()


def test_complete_mode_without_keys_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    give(tmp_path / "input", "0", [(1, 0)])
    counts = stream(spark, tmp_path / "input").groupBy("k").count()
    writer = snapline.exactly_once(writer_of(counts, tmp_path / "checkpoint", "complete"))
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*all rows of the result"):
        run(writer.jdbc(url_of(tmp_path), "totals"))


def test_kafka_has_the_options_of_sparks_sink(spark: SparkSession, tmp_path: Path) -> None:
    rows = stream(spark, tmp_path / "input").selectExpr("string(k) AS key", "string(v) AS value")
    writer = snapline.exactly_once(rows.writeStream, name="mine").kafka(
        "host:1", "out", markers_topic="markers", **{"kafka.linger.ms": "1"}
    )
    found = WriterSettings.of(writer)
    assert found.format == "snapline-kafka"
    assert found.is_exactly_once
    assert found.options == {
        "kafka.bootstrap.servers": "host:1",
        "topic": "out",
        "markerstopic": "markers",
        "sink": "mine",
        "kafka.linger.ms": "1",
    }


def test_keys_are_a_list(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="list of names"):
        snapline.exactly_once(stream(spark, tmp_path / "input").writeStream).jdbc("jdbc:x", "t", keys="k")


def test_a_session_without_kafkas_client_is_told_what_to_add(spark: SparkSession, tmp_path: Path) -> None:
    rows = stream(spark, tmp_path / "input").selectExpr("string(v) AS value")
    writer = snapline.exactly_once(writer_of(rows, tmp_path / "checkpoint")).kafka("host:1", "out")
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*spark-sql-kafka-0-10_2\.13:\d"):
        writer.start()
