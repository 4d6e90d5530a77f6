from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.query import LocalFiles
from snapline.recovery.sink_log import SinkLog

from ..folder.fakes import FakeFiles
from ..query.real_query import RealQuery


@pytest.mark.parametrize(
    ("names", "newest"), [([], -1), (["0", "1"], 1), (["9.compact", "10"], 10), (["19.compact", "20.tmp", "x"], 19)]
)
def test_the_newest_batch_of_the_log(names: list[str], newest: int) -> None:
    files = FakeFiles()
    for name in names:
        files.put(f"_spark_metadata/{name}", b"v1")
    log = SinkLog(files, FakeFiles())
    assert [log.has(batch) for batch in range(newest + 3)] == [True] * (newest + 1) + [False] * 2


def test_of_a_writer(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 2)
    query.go_on()
    output, newest = str(tmp_path / "output"), max(query.batches("commits"))
    spark.sql(f"CREATE TABLE known (key INT) USING parquet LOCATION '{output}'")
    try:
        rows, checkpoint = query.result(), LocalFiles(query.checkpoint)
        foreach = rows.writeStream.foreachBatch(lambda batch, number: None)
        logs = [
            SinkLog.of(rows.writeStream.format("parquet").option("PATH", output), None, None, checkpoint),
            SinkLog.of(rows.writeStream, output, None, checkpoint),
            SinkLog.of(rows.writeStream, None, "known", checkpoint),
        ]
        for log in logs:
            assert log.has(newest)
            assert not log.has(newest + 1)
        others = [
            SinkLog.of(foreach.option("path", output), None, None, checkpoint),
            SinkLog.of(rows.writeStream.format("noop").option("path", output), None, None, checkpoint),
            SinkLog.of(rows.writeStream, None, "unknown", checkpoint),
            SinkLog.of(rows.writeStream, None, "another.catalogs.table", checkpoint),
            SinkLog.of(rows.writeStream, str(tmp_path / "elsewhere"), None, checkpoint),
        ]
        assert not any(log.has(0) for log in others)
    finally:
        spark.sql("DROP TABLE known")


def entry(*actions: str) -> bytes:
    return "\n".join(actions).encode()


def test_the_newest_batch_that_a_delta_table_has() -> None:
    files, checkpoint = FakeFiles(), FakeFiles()
    log = SinkLog(files, checkpoint)
    for number, (query, batch) in enumerate([("mine", 0), ("mine", 1), ("another", 7)]):
        note = f'{{"txn":{{"appId":"{query}","version":{batch},"lastUpdated":1}}}}'
        files.put(f"_delta_log/{number:020}.json", entry('{"commitInfo":{"txnId":"x"}}', '{"add":{"path":"a"}}', note))
    files.put(
        f"_delta_log/{3:020}.json", entry('{"add":{"path":"txn"}}', '{"txn":[]}', '{"txn":{"appId":"mine"}}', "{")
    )
    files.put(f"_delta_log/{3:020}.checkpoint.parquet", b"txn")
    files.put("_delta_log/_last_checkpoint", b"txn")
    assert not log.has(0)
    checkpoint.put("metadata", b'{"id":"mine"}')
    assert [log.has(batch) for batch in range(4)] == [True, True, False, False]
    checkpoint.put("metadata", b'{"id":"nobody"}')
    assert not log.has(0)
