"""State through Spark's own doors: the format ``snapline``, and SQL. What a filter reads is counted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from snapline.errors import InvalidConfiguration, NotACheckpoint, SnaplineError, StateNotFound
from snapline.savepoint import create_savepoint, read_state

from .queries import StatefulQuery

PARTITIONS = 4
NAMES = ("aggregation", "sessions", "dedup", "keyed-function", "join", "no-key")


@pytest.fixture(scope="module")
def states(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By query, a folder with ``checkpoint`` and ``savepoint``."""
    found = {}
    for name in NAMES:
        found[name] = tmp_path_factory.mktemp(name)
        query = StatefulQuery(spark, found[name], name)
        query.add_input(range(2))
        query.run("checkpoint", PARTITIONS)
        create_savepoint(spark, str(found[name] / "checkpoint"), str(found[name] / "savepoint"))
    return found


def scanned(table: DataFrame) -> tuple[list[Any], int, int]:
    """The rows that come out, how many were read from storage, and how many tasks read."""
    rows = table.collect()
    nodes = [table._jdf.queryExecution().executedPlan()]
    while nodes:
        node = nodes.pop()
        if str(node.getClass().getSimpleName()) == "BatchScanExec":
            read = int(node.metrics().apply("numOutputRows").value())
            return rows, read, int(node.inputRDD().getNumPartitions())
        children = node.children()
        nodes += [children.apply(i) for i in range(children.size())]
    raise AssertionError("the plan reads nothing")


@pytest.mark.parametrize("kind", ["checkpoint", "savepoint"])
def test_a_key_is_looked_up(spark: SparkSession, states: dict[str, Path], kind: str) -> None:
    table = read_state(str(states["aggregation"] / kind), session=spark)
    everything, read, tasks = scanned(table)
    assert read == len(everything) > 20
    assert kind == "savepoint" or tasks == PARTITIONS
    # One of them has no name.
    for row in sorted(everything, key=lambda row: (row.key.name is not None, row.key))[:3]:
        name = F.col("key.name").eqNullSafe(row.key.name)
        rows, read, tasks = scanned(table.where((F.col("key.k") == row.key.k) & name))
        assert rows == [row]
        in_partition = sum(each.partition == row.partition for each in everything)
        assert read == (1 if kind == "checkpoint" else in_partition) < len(everything)
        assert kind == "savepoint" or tasks == 1
    rows, read, _ = scanned(table.where((F.col("key.k") == -1) & F.col("key.name").isNull()))
    assert rows == []
    assert read <= len(everything) // 2


@pytest.mark.parametrize("kind", ["checkpoint", "savepoint"])
def test_what_a_key_is_spread_by_names_the_partition(spark: SparkSession, states: dict[str, Path], kind: str) -> None:
    """Of a session window: the rest of the key is when it began."""
    table = read_state(str(states["sessions"] / kind), session=spark)
    everything = table.collect()
    for k in sorted({row.key.k for row in everything})[:2]:
        rows, read, tasks = scanned(table.where(F.col("key.k") == k))
        assert sorted(map(repr, rows)) == sorted(repr(row) for row in everything if row.key.k == k)
        assert len(rows) <= read == sum(row.partition == rows[0].partition for row in everything)
        assert kind == "savepoint" or tasks == 1


@pytest.mark.parametrize("kind", ["checkpoint", "savepoint"])
@pytest.mark.parametrize("state", ["total", "seen", "per", "last"])
def test_every_kind_of_state(spark: SparkSession, states: dict[str, Path], kind: str, state: str) -> None:
    table = read_state(str(states["keyed-function"] / kind), state=state, session=spark)
    everything = table.collect()
    row = everything[len(everything) // 2]
    if state == "per":
        where = (F.col("key.key.k") == row.key.key.k) & (F.col("key.userKey.value") == row.key.userKey.value)
    else:
        where = F.col("key.k") == row.key.k
    rows, read, tasks = scanned(table.where(where))
    assert rows == [row]
    assert read < len(everything)
    assert kind == "savepoint" or (read, tasks) == (1, 1)


@pytest.mark.parametrize(
    "where",
    [
        "key.k = 3",
        "key.k > 3",
        "key.k = 3 OR key.name = 'name 2'",
        "key.k = 3 AND value.sum > 100",
        "key.k = 3 AND key.k = 4 AND key.name = 'name 3'",
        "key.k + 1 = 4 AND key.name = 'name 3'",
        "cast(key.k as double) = 3.0 AND key.name = 'name 3'",
        "key.k <=> 5 AND key.name IS NULL",
        "key IS NULL",
        "key.k IN (3, 4) AND key.name = 'name 3'",
        "partition = 2",
        "key_group % 2 = 0",
    ],
)
@pytest.mark.parametrize("kind", ["checkpoint", "savepoint"])
def test_any_filter_finds_the_same(spark: SparkSession, states: dict[str, Path], kind: str, where: str) -> None:
    table = read_state(str(states["aggregation"] / kind), session=spark)
    kept = spark.createDataFrame(table.collect(), table.schema)
    assert sorted(map(repr, table.where(where).collect())) == sorted(map(repr, kept.where(where).collect()))


def test_a_table_that_somebody_wrote_in_another_order(
    spark: SparkSession, states: dict[str, Path], tmp_path: Path
) -> None:
    """The partition of a row is what its column says, whatever file it lies in."""
    from snapline.savepoint import write_savepoint

    source = str(states["aggregation"] / "savepoint")
    table = read_state(source, session=spark).repartition(3, F.col("value.count"))
    write_savepoint(source, str(tmp_path / "mended"), {(0, None): table}, session=spark)
    mended = read_state(str(tmp_path / "mended"), session=spark)
    for row in table.collect()[:3]:
        found = mended.where((F.col("key.k") == row.key.k) & F.col("key.name").eqNullSafe(row.key.name)).collect()
        assert [each.value for each in found] == [row.value]


def test_sql(spark: SparkSession, states: dict[str, Path]) -> None:
    path = states["keyed-function"] / "checkpoint"
    due = sorted(map(tuple, read_state(str(path), state="total", session=spark).select("key.k", "value.*").collect()))
    query = f"SELECT key.k, value.* FROM snapline.`{path}` WITH (operator = 0, state = 'total') ORDER BY k"
    assert sorted(map(tuple, spark.sql(query).collect())) == due
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW totals USING snapline OPTIONS (path '{path}', state 'total')")
    assert sorted(map(tuple, spark.sql("SELECT key.k, value.* FROM totals").collect())) == due
    count = spark.sql(f"WITH a AS (SELECT * FROM SNAPLINE.`{states['dedup']}/savepoint`) SELECT count(*) FROM a")
    assert count.head()[0] == read_state(str(states["dedup"] / "savepoint"), session=spark).count()  # type: ignore[index]


def test_the_one_state_needs_no_name(spark: SparkSession, states: dict[str, Path]) -> None:
    reader = spark.read.format("snapline").option("path", str(states["dedup"] / "checkpoint"))
    assert reader.load().count() > 0
    assert read_state(str(states["no-key"] / "savepoint"), "stateStoreSave", session=spark).count() == 1


@pytest.mark.parametrize(
    ("query", "options", "kind", "text"),
    [
        ("dedup/checkpoint", {"operater": 0}, InvalidConfiguration, "no option operater"),
        ("dedup/checkpoint", {"checkpoint": "x"}, InvalidConfiguration, "checkpoint is x"),
        ("dedup/savepoint", {"checkpoint": 1}, InvalidConfiguration, "no numbered checkpoints"),
        ("dedup/checkpoint", {"checkpoint": 7}, StateNotFound, "no checkpoint 7"),
        ("dedup/checkpoint", {"operator": 3}, StateNotFound, r"operator 0 \(dedupe\)"),
        ("dedup/savepoint", {"state": "x"}, StateNotFound, "has default"),
        ("keyed-function/checkpoint", {}, StateNotFound, "No state was named; operator 0 .*last.*per.*seen.*total"),
        ("join/savepoint", {}, StateNotFound, "left-keyToNumValues"),
        ("dedup/input", {}, NotACheckpoint, "has not both"),
        ("dedup/absent", {}, NotACheckpoint, "has not both"),
    ],
)
def test_what_is_asked_wrongly(
    spark: SparkSession,
    states: dict[str, Path],
    query: str,
    options: dict[str, Any],
    kind: type[SnaplineError],
    text: str,
) -> None:
    name, _, below = query.partition("/")
    reader = spark.read.format("snapline").option("path", str(states[name] / below))
    for option, value in options.items():
        reader = reader.option(option, value)
    with pytest.raises(Exception, match=f"(?s){kind.code}.*{text}"):
        reader.load()


def test_no_path(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*no path"):
        spark.read.format("snapline").load()


@pytest.mark.parametrize("harm", ["unfinished", "cut", "later"])
def test_a_savepoint_that_is_none(spark: SparkSession, states: dict[str, Path], tmp_path: Path, harm: str) -> None:
    copy = Path(shutil.copytree(states["dedup"] / "savepoint", tmp_path / "copy"))
    (copy / "._metadata.crc").unlink(missing_ok=True)
    data = bytearray((copy / "_metadata").read_bytes())
    if harm == "unfinished":
        (copy / "_metadata").rename(copy / "_unfinished")
    elif harm == "cut":
        (copy / "_metadata").write_bytes(data[:-5])
    else:
        from snapline.format.frame import crc32c

        data[8:10] = (99).to_bytes(2, "little")
        data[12:16] = crc32c(bytes(data[:12])).to_bytes(4, "little")
        (copy / "_metadata").write_bytes(data)
    code = {"unfinished": "SNAPLINE-NOT-A-CHECKPOINT", "cut": "SNAPLINE-DAMAGED", "later": "SNAPLINE-VERSION"}[harm]
    with pytest.raises(SnaplineError) as raised:
        read_state(str(copy), session=spark)
    assert raised.value.code == code
