from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.query.sink_log import SinkLog

from .fakes import FakeFiles
from .real_query import RealQuery


@pytest.mark.parametrize(
    ("names", "newest"), [([], -1), (["0", "1"], 1), (["9.compact", "10"], 10), (["19.compact", "20.tmp", "x"], 19)]
)
def test_the_newest_batch_of_the_log(names: list[str], newest: int) -> None:
    files = FakeFiles()
    for name in names:
        files.put(f"_spark_metadata/{name}", b"v1")
    log = SinkLog(files)
    assert [log.has(batch) for batch in range(newest + 3)] == [True] * (newest + 1) + [False] * 2


def test_of_a_writer(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 2)
    query.go_on()
    output, newest = str(tmp_path / "output"), max(query.batches("commits"))
    spark.sql(f"CREATE TABLE known (key INT) USING parquet LOCATION '{output}'")
    try:
        rows = query.result()
        logs = [
            SinkLog.of(rows.writeStream.format("parquet").option("PATH", output), None, None),
            SinkLog.of(rows.writeStream, output, None),
            SinkLog.of(rows.writeStream, None, "known"),
        ]
        for log in logs:
            assert log.has(newest)
            assert not log.has(newest + 1)
        others = [
            SinkLog.of(rows.writeStream.foreachBatch(lambda batch, number: None).option("path", output), None, None),
            SinkLog.of(rows.writeStream.format("noop").option("path", output), None, None),
            SinkLog.of(rows.writeStream, None, "unknown"),
            SinkLog.of(rows.writeStream, None, "another.catalogs.table"),
            SinkLog.of(rows.writeStream, str(tmp_path / "elsewhere"), None),
        ]
        assert not any(log.has(0) for log in others)
    finally:
        spark.sql("DROP TABLE known")
