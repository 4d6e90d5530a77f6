"""Values in a real query, in a session whose clock has an hour twice: what was given is what is found later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import main_output, side_output
from snapline.errors import InvalidConfiguration

from ..process import value_functions
from .runs import FileQuery
from .value_functions import SIDE, Keep, Keys, Passing, Reuse, Timed

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(value_functions)

NEW_YORK = "America/New_York"
#: Half an hour after the clock was put back, and half an hour before.
SECOND = datetime(2013, 11, 3, 6, 30, tzinfo=timezone.utc)
FIRST = SECOND - timedelta(hours=1)


@pytest.fixture(autouse=True)
def new_york(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.session.timeZone", NEW_YORK)
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def keyed(function: Any, output: str, *keys: str, **more: Any) -> Any:
    return lambda rows: snapline.key_by(rows, *keys).process(function, output, **more)


def test_entries_and_namespaces_are_found_again(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.snapline.python.max-prefetch", 2)
    try:
        query = FileQuery(
            spark,
            tmp_path,
            keyed(Keys(), "v long, text string", "k"),
            rows="k long, v long, ms long, f float, d double",
        )
        found: list[Any] = []
        for batch in range(3):
            rows = [(1, 10 * batch + i, 1_383_460_200_000 + 3_600_000 * (i % 2), 0.1, d) for i, d in enumerate(DOUBLES)]
            query.add("rows", rows)
            found += sorted(query.run())  # a restart between all batches
        counts = [str(each) for each in (1, 2, 3)]
        by_batch = [[row[1] for row in found[5 * at : 5 * at + 5]] for at in range(3)]
        for at, texts in enumerate(by_batch):
            # Of five rows three have the first time, and two the second; the doubles are NaN twice, and zero twice.
            assert Counter(texts) == Counter(expected(at)), (at, counts)
    finally:
        spark.conf.unset("spark.snapline.python.max-prefetch")


DOUBLES = [float("nan"), 0.0, float("nan"), -0.0, 0.5]


def expected(batch: int) -> list[str]:
    times, floats, doubles = [3 * batch, 2 * batch], 5 * batch, {"nan": 2 * batch, "0.0": 2 * batch, "0.5": batch}
    found = []
    for i, double in enumerate(["nan", "0.0", "nan", "0.0", "0.5"]):
        times[i % 2] += 1
        floats += 1
        doubles[double] += 1
        n, d = times[i % 2], doubles[double]
        found.append(f"{[n, n, n, floats, d, d, n]} {5 * batch + i + 1}")
    return found


def test_rows_and_values_are_those_of_the_time_of_the_call(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(1, n) for n in range(3)], "k long, n long").coalesce(1)
    result = snapline.key_by(rows, "k").process(Reuse(), "n long, all array<long>", side_outputs=[SIDE]).persist()
    assert sorted(tuple(row) for row in main_output(result).collect()) == [(n, [n]) for n in range(3)]
    assert sorted(tuple(row) for row in side_output(result, SIDE).collect()) == [(n, [n]) for n in range(3)]
    result.unpersist()
    for chunk in (1, 2, 100):
        spark.conf.set("spark.snapline.python.cache.max-keys", 1)
        spark.conf.set("spark.snapline.python.chunk-rows", chunk)
        folder = tmp_path / str(chunk)
        folder.mkdir()
        try:
            query = FileQuery(spark, folder, keyed(Keep(), "text string", "k"), rows="k long, v long")
            query.add("rows", [(1, 7)] * 3)
            seen = [text for (text,) in query.run()]
        finally:
            spark.conf.unset("spark.snapline.python.cache.max-keys")
            spark.conf.unset("spark.snapline.python.chunk-rows")
        assert seen == [f"{[[7] * n, [7] * n, {'x': [7]}]}" for n in (1, 2, 3)]


def test_a_doubled_hour_passes_functions_states_and_keys(spark: SparkSession, tmp_path: Path) -> None:
    times = [FIRST, SECOND, datetime(2040, 7, 1, 12, tzinfo=timezone.utc)]
    query = FileQuery(
        spark,
        tmp_path,
        lambda rows: (
            snapline.key_by(rows.withColumn("t", F.timestamp_micros("u")), "t")
            .process(
                Passing(), "u long, fold int, row timestamp, kept timestamp, key timestamp, seen map<timestamp,long>"
            )
            .select("u", "fold", *[F.unix_micros(name) for name in ("row", "kept", "key")], F.map_keys("seen"))
        ),
        rows="v long, u long",
    )
    micros = [int(time.timestamp()) * 1_000_000 for time in times]
    for _ in range(2):
        query.add("rows", list(enumerate(micros)))
        found = sorted(query.run())
        assert [row[:5] for row in found] == [
            (at, fold, at, at, at) for at, fold in zip(micros, [0, 1, 0], strict=True)
        ]
    stored = snapline.read_state(str(query.checkpoint), state="last", session=spark)
    instants = stored.select(F.unix_micros("key.t"), F.unix_micros("value.value")).collect()
    assert sorted(tuple(row) for row in instants) == [(at, at) for at in micros]


def test_timers_of_a_doubled_hour(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, FIRST), (1, SECOND)], "k long, t timestamp")
    result = snapline.key_by(rows, "k").process(Timed(), "ms long, same boolean", event_time="t")
    assert sorted(tuple(row) for row in result.collect()) == [
        (int(time.timestamp()) * 1000, True) for time in (FIRST, SECOND)
    ]


def test_timers_take_numbers_of_numpy_and_refuse_what_is_too_large(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1,)], "k long")
    result = snapline.key_by(rows, "k").process(Timed(np.int64(5)), "ms long, same boolean")
    assert [row.ms for row in result.collect()] == [5]
    result = snapline.key_by(rows, "k").process(Timed(1 << 63), "ms long, same boolean")
    with pytest.raises(Exception, match=r"SNAPLINE-FUNCTION.*more than 64 bits"):
        result.collect()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("map<string,long>", r"key_by by x, which is of type map<string,bigint>.* those of a map need not have"),
        ("struct<a:map<string,long>>", "those of a map need not have"),
        ("variant", "key_by by x, which is of type variant.* those of a variant need not have"),
        ("string collate UTF8_LCASE", "a string with the collation UTF8_LCASE"),
        ("array<string collate UTF8_LCASE>", "a string with the collation UTF8_LCASE"),
    ],
)
def test_a_key_whose_equal_values_have_several_bytes_is_refused(spark: SparkSession, kind: str, message: str) -> None:
    rows = spark.sql(f"select cast(null as {kind}) x, 1L n")
    with pytest.raises(InvalidConfiguration, match=message):
        snapline.key_by(rows, "x").process(Timed(), "ms long, same boolean")


@pytest.mark.parametrize("kind", ["map<string,long>", "array<struct<a:variant>>"])
def test_an_order_by_what_has_none_is_refused(spark: SparkSession, kind: str) -> None:
    rows = spark.sql(f"select cast(null as {kind}) x, 1L n")
    with pytest.raises(InvalidConfiguration, match=r"order_by by x, which is of type .* has no order"):
        snapline.key_by(rows, "n").order_by("x")


def test_zeros_and_nans_are_one_key_as_in_group_by(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, keyed(value_functions.Count(), "v long, n long", "d"), rows="v long, d double")
    for batch in range(2):
        query.add("rows", list(enumerate(DOUBLES)))
        assert sorted(n for _, n in query.run()) == sorted(
            n + 2 * batch if n < 3 and i < 4 else n + batch for i, n in enumerate([1, 1, 2, 2, 1])
        )


def test_a_value_that_does_not_fit_is_refused_where_it_is_given(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, keyed(value_functions.Wrong(), "v long", "k"), rows="k long, v long")
    query.add("rows", [(1, 7)])
    with pytest.raises(
        StreamingQueryException,
        match=r"SNAPLINE-FUNCTION.*the key of state per is of type timestamp, and was given 7, a int.* at key 1, row",
    ):
        query.run()


def test_another_time_zone_leaves_instants_where_they_are(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(
        spark,
        tmp_path,
        lambda rows: (
            snapline.key_by(rows, "k")
            .process(value_functions.Zoned(), "typed timestamp, shown string, pickled string, day date")
            .select(F.unix_micros("typed"), "shown", "pickled", "day")
        ),
        rows="k long, v long",
    )
    micros = 1_383_456_600_000_000  # half past one in New York, half past five in UTC
    query.add("rows", [(1, micros)])
    before = ("2013-11-03 01:30:00", "2013-11-03")
    assert query.run() == [(micros, before[0], before[0], datetime(2013, 11, 3).date())]
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    query.add("rows", [(1, 0)])
    assert query.run() == [(micros, "2013-11-03 14:30:00", before[0], datetime(2013, 11, 3).date())]
    # Spark notes some settings of a batch in its logs. The zone is none of them, so a replay has that of its session.
    offsets = (query.checkpoint / "offsets" / "0").read_text()
    assert "spark.sql.shuffle.partitions" in offsets
    assert "timeZone" not in offsets
