from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StringType

from snapline import key_by
from snapline.errors import InvalidConfiguration
from snapline.functions import Context, KeyedProcessFunction
from snapline.plan.obstacles import of_source
from snapline.plan.plan_checks import keeps_state
from snapline.plan.static_tables import is_version_of_iceberg
from snapline.query import check_replayable, find_obstacles


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Beside them there is a view ``names``, of files that another program may write, and a source ``catalog``."""
    (tmp_path / "input").mkdir()
    spark.range(3).selectExpr("cast(id AS int) AS key", "id AS name").write.parquet(str(tmp_path / "names"))
    spark.read.parquet(str(tmp_path / "names")).createOrReplaceTempView("names")
    spark.dataSource.register(Catalog)
    return spark.readStream.schema("key int, value long, time timestamp").json(str(tmp_path / "input"))


def in_sql(df: DataFrame, text: str) -> DataFrame:
    df.createOrReplaceTempView("events")
    return df.sparkSession.sql(text)


class Count(KeyedProcessFunction):
    def process_element(self, value: object, ctx: Context) -> None: ...


class Catalog(DataSource):
    @classmethod
    def name(cls) -> str:
        return "catalog"

    def schema(self) -> str:
        return "key int, name long"

    def reader(self, schema: object) -> DataSourceReader:
        raise AssertionError("no test reads it")


def of_catalog(session: SparkSession, **options: str | int) -> DataFrame:
    return session.read.format("catalog").options(**options).load()


def at_version(session: SparkSession, version: str) -> DataFrame:
    """As a catalog has a table that is read with VERSION AS OF. Spark brings none with versions."""
    jvm = session._jvm
    assert jvm is not None
    plans = jvm.org.apache.spark.sql
    relation = of_catalog(session)._jdf.queryExecution().analyzed()
    known = relation.copy(
        relation.table(),
        relation.output(),
        relation.catalog(),
        relation.identifier(),
        relation.options(),
        jvm.scala.Option.apply(plans.catalyst.analysis.AsOfVersion(version)),
    )
    return DataFrame(plans.classic.Dataset.ofRows(session._jsparkSession, known), session)


def with_names(df: DataFrame) -> DataFrame:
    return df.join(df.sparkSession.table("names"), "key")


def names(df: DataFrame) -> list[tuple[str, bool]]:
    return [(obstacle.found, obstacle.fatal) for obstacle in find_obstacles(df)]


FINE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "sums": lambda df: df.groupBy("key").agg(F.sum("value"), F.max("value"), F.avg("value")),
    "the batch's time": lambda df: df.withColumn("now", F.current_timestamp()).groupBy("now").count(),
    "the batch's date": lambda df: df.filter("time > current_date()").groupBy("key").count(),
    "the clock after state": lambda df: df.groupBy("key").count().withColumn("now", F.expr("now()")),
    "the batch's time beside a subquery": lambda df: in_sql(
        df, "SELECT key, count(*) FROM events WHERE time < current_timestamp() AND key > (SELECT 1) GROUP BY key"
    ),
    "the file's name": lambda df: df.groupBy(F.input_file_name()).count(),
    "rand() after state": lambda df: df.groupBy("key").count().withColumn("r", F.rand()),
    "rand() without state": lambda df: df.withColumn("r", F.rand()).filter("r < 0.5"),
    "a deterministic function": lambda df: df.groupBy(F.udf(str)("key")).count(),
    "a range": lambda df: df.join(df.sparkSession.range(5), F.expr("key = id")).groupBy("key").count(),
    "rows of a list": lambda df: (
        df.join(df.sparkSession.createDataFrame([(1, "a")], "key int, name string"), "key").groupBy("name").count()
    ),
    "rows of Arrow": lambda df: (
        df.join(df.sparkSession.createDataFrame(pa.table({"key": [1]})), "key").groupBy("key").count()
    ),
    "a row of SQL": lambda df: df.join(df.sparkSession.sql("SELECT 1 AS key"), "key").groupBy("key").count(),
    "what was read once": lambda df: (
        df.join(df.sparkSession.table("names").localCheckpoint(), "key").groupBy("key").count()
    ),
    "a version of a table": lambda df: df.join(at_version(df.sparkSession, "7"), "key").groupBy("key").count(),
    "a table after state": lambda df: with_names(df.groupBy("key").count()),
    "a table without state": with_names,
    "rand() on a static side after state": lambda df: (
        df.groupBy("key").count().join(df.sparkSession.range(5).withColumn("r", F.rand()), F.expr("key = id"))
    ),
    "order_by": lambda df: key_by(df, "key").order_by("time", "value").process(Count(), "key int"),
}


@pytest.mark.parametrize("name", FINE)
def test_what_can_be_replayed_passes(rows: DataFrame, name: str) -> None:
    assert names(FINE[name](rows)) == []


REFUSED: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "rand": (lambda df: df.withColumn("r", F.rand()).groupBy("r").count(), r"rand\("),
    "rand in the key": (lambda df: df.groupBy((F.rand() * 2).cast("int")).count(), r"rand\("),
    "rand in a filter": (lambda df: df.filter(F.rand(7) < 0.5).groupBy("key").count(), r"rand\("),
    "uuid": (lambda df: df.withColumn("u", F.expr("uuid()")).dropDuplicates(["u"]), "uuid"),
    "shuffle": (lambda df: df.withColumn("s", F.shuffle(F.array("key"))).dropDuplicates(["s"]), "shuffle"),
    "sample": (lambda df: df.sample(fraction=0.5, seed=1).groupBy("key").count(), "Sample"),
    "function": (
        lambda df: df.groupBy(F.udf(lambda key: str(key), StringType()).asNondeterministic()("key")).count(),
        "declared non-deterministic",
    ),
    "before a join": (
        lambda df: df.withColumn("r", F.rand()).alias("a").join(df.alias("b"), F.expr("a.key = b.key")),
        r"rand\(",
    ),
    "a static side": (lambda df: with_names(df).groupBy("name").count(), r"Relation \[.*\] parquet is a static side"),
    "a static side below a keyed function": (
        lambda df: key_by(with_names(df), "key").order_by("time").process(Count(), "key int"),
        "is a static side",
    ),
    "a static side that is worked on": (
        lambda df: df.join(df.sparkSession.table("names").groupBy("key").count().cache(), "key").dropDuplicates(),
        "is a static side",
    ),
    "a subquery": (
        lambda df: in_sql(df, "SELECT key, count(*) FROM events WHERE key IN (SELECT key FROM names) GROUP BY key"),
        "is a static side",
    ),
    "now": (lambda df: df.withColumn("now", F.expr("now()")).groupBy("now").count(), r"now\(\) is the time"),
    "the clock": (
        lambda df: df.withColumn("n", F.expr("current_time() IS NULL")).groupBy("n").count(),
        "current_time.* is the time",
    ),
    "the batch's time in a subquery": (
        lambda df: in_sql(
            df, "SELECT key, count(*) FROM events WHERE time > (SELECT current_timestamp()) GROUP BY key"
        ),
        r"current_timestamp\(\) in a subquery is the time",
    ),
    "the batch's date in a subquery": (
        lambda df: in_sql(
            df, "SELECT key, count(*) FROM events WHERE day(time) IN (SELECT day(current_date())) GROUP BY key"
        ),
        r"current_date\(.*\) in a subquery is the time",
    ),
    "a lateral join": (
        lambda df: in_sql(
            df, "SELECT name, count(*) FROM events s, LATERAL (SELECT name FROM names WHERE key = s.key) GROUP BY name"
        ),
        "is a static side",
    ),
    "a static WITH": (
        lambda df: in_sql(df, "WITH w AS (SELECT * FROM names) SELECT name, count(*) FROM events JOIN w GROUP BY name"),
        "is a static side",
    ),
    "rand in a WITH": (
        lambda df: in_sql(df, "WITH w AS (SELECT rand() AS r FROM events) SELECT r, count(*) FROM w GROUP BY r"),
        r"rand\(",
    ),
    "rand on a static side": (
        lambda df: df.join(df.sparkSession.range(5).withColumn("r", F.rand()), F.expr("key = id")).groupBy("r").count(),
        r"rand\(",
    ),
    "rows of an RDD that reads": (
        lambda df: df.join(df.sparkSession.createDataFrame(df.sparkSession.table("names").rdd), "key").distinct(),
        "is a static side",
    ),
    "an option that its source knows nothing of": (
        lambda df: df.join(of_catalog(df.sparkSession, **{"snapshot-id": 7, "versionAsOf": 7}), "key").distinct(),
        "is a static side",
    ),
    "a branch": (lambda df: df.join(at_version(df.sparkSession, "main"), "key").distinct(), "is a static side"),
    "a difference": (
        lambda df: df.select("key").subtract(df.sparkSession.table("names").select("key")),
        "is a static side",
    ),
    "below a keyed function": (
        lambda df: key_by(df.withColumn("r", F.rand()), "key").order_by("r").process(Count(), "key int"),
        r"rand\(",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_gives_another_value_each_time_is_refused(rows: DataFrame, name: str) -> None:
    make, what = REFUSED[name]
    with pytest.raises(InvalidConfiguration, match=what):
        check_replayable(make(rows).writeStream)


WARNED: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "first": (lambda df: df.groupBy("key").agg(F.first("value")), "first"),
    "collect_list": (lambda df: df.groupBy("key").agg(F.collect_list("value")), "collect_list"),
    "ids": (lambda df: df.withColumn("i", F.monotonically_increasing_id()).groupBy("i").count(), "monotonically"),
    "deduplication on some columns": (lambda df: df.dropDuplicates(["key"]), "Deduplicate"),
    "a keyed function without an order": (lambda df: key_by(df, "key").process(Count(), "key int"), "order"),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_depends_on_the_order_is_warned_of(rows: DataFrame, name: str, caplog: pytest.LogCaptureFixture) -> None:
    make, what = WARNED[name]
    with caplog.at_level(logging.WARNING):
        (obstacle,) = check_replayable(make(rows).writeStream)
    assert what in obstacle.found
    assert obstacle.found in caplog.text
    assert not obstacle.fatal


def test_clean_source_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    reader = spark.readStream.schema("key int").option("cleanSource", "DELETE")
    with pytest.raises(InvalidConfiguration, match="cleanSource=delete"):
        check_replayable(reader.json(str(tmp_path / "input")).groupBy("key").count().writeStream)


def test_what_is_forced_is_warned_of(rows: DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    counts = rows.withColumn("r", F.rand()).groupBy("r").agg(F.first("key")).writeStream
    with caplog.at_level(logging.WARNING):
        obstacles = check_replayable(counts, forced=True)
    assert [obstacle.fatal for obstacle in obstacles] == [False, True]
    may, will = (record.getMessage() for record in caplog.records)
    assert "a replay may rebuild another state" in may
    assert "a replay rebuilds another state than the one whose output the sink has, or fails: rand(" in will
    with pytest.raises(InvalidConfiguration, match="ContinuousTrigger"):
        check_replayable(counts.trigger(continuous="1 second"), forced=True)


def test_a_static_side_can_be_forced(rows: DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (obstacle,) = check_replayable(with_names(rows).groupBy("key").count().writeStream, forced=True)
    assert obstacle.static
    assert "is a static side" in caplog.text


def test_versions_of_iceberg() -> None:
    table = "org.apache.iceberg.spark.source.SparkTable"
    assert is_version_of_iceberg(table, ["path", "snapshot-id"])
    assert is_version_of_iceberg(table, ["as-of-timestamp"])
    assert not is_version_of_iceberg(table, ["path", "branch"])
    assert not is_version_of_iceberg("com.example.Table", ["snapshot-id"])


STATEFUL = {
    "sums": True,
    "a table after state": True,
    "order_by": True,
    "a table without state": False,
    "rand() without state": False,
}


@pytest.mark.parametrize("name", STATEFUL)
def test_what_keeps_state(rows: DataFrame, name: str) -> None:
    assert keeps_state(FINE[name](rows)) is STATEFUL[name]


@pytest.mark.parametrize("name", [*REFUSED, *WARNED])
def test_what_a_replay_could_not_repeat_keeps_state(rows: DataFrame, name: str) -> None:
    assert keeps_state({**REFUSED, **WARNED}[name][0](rows))


def test_the_socket_source_is_refused(spark: SparkSession) -> None:
    reader = spark.readStream.format("socket").option("host", "localhost").option("port", 1)
    with pytest.raises(InvalidConfiguration, match="socket cannot be read twice"):
        check_replayable(reader.load().groupBy("value").count().writeStream)


@pytest.mark.parametrize("source", ["rate", "rate-micro-batch"])
def test_rate_sources_can_be_replayed(spark: SparkSession, source: str) -> None:
    reader = spark.readStream.format(source).option("rowsPerBatch", 1)
    assert names(reader.load().groupBy("value").count()) == []


def test_other_triggers_and_logs_are_refused(rows: DataFrame) -> None:
    counts = rows.groupBy("key").count().writeStream
    assert check_replayable(counts) == []
    assert check_replayable(counts.trigger(processingTime="1 second").option("path", "x")) == []
    assert check_replayable(counts.trigger(availableNow=True)) == []
    with pytest.raises(InvalidConfiguration, match="ContinuousTrigger"):
        check_replayable(counts.trigger(continuous="1 second"))
    with pytest.raises(InvalidConfiguration, match="asyncProgressTrackingEnabled"):
        check_replayable(counts.trigger(once=True).option("asyncProgressTrackingEnabled", "true"))


def test_every_reason_is_named(rows: DataFrame) -> None:
    both = rows.withColumn("r", F.rand()).withColumn("u", F.expr("uuid()")).groupBy("r", "u").count()
    with pytest.raises(InvalidConfiguration, match=r"(?s)rand\(.*uuid|uuid.*rand\("):
        check_replayable(both.writeStream)


def test_options_of_sources() -> None:
    assert list(of_source("kafka", {"failondataloss": "true"})) == []
    (obstacle,) = of_source("kafka", {"failondataloss": "FALSE"})
    assert not obstacle.fatal
    assert "failOnDataLoss" in obstacle.action
