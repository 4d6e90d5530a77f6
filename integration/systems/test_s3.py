"""The checkpoint folder in S3: killed drivers, a slow store and one that fails, and what a checkpoint costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from ..drill.tally import Tally
from .artifacts import SCALA, first_of, jar, version_of
from .command import Command
from .files_query import check_batches, make_lives
from .life import Lives
from .object_store import BUCKET, Faults, ObjectStore

SDK = "2.35.4"
"""That of the Hadoop that Spark ships."""
MANAGER = "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
MODES = [
    pytest.param(None, 1, True, id="every-batch"),
    pytest.param(1.0, 2, True, id="interval"),
    pytest.param(1.0, 1, False, id="renames"),
]


@pytest.fixture(scope="module")
def jars() -> list[str]:
    cloud = f"org.apache.spark:spark-hadoop-cloud_{SCALA}"
    found = [
        jar(f"org.apache.hadoop:hadoop-aws:{version_of('hadoop-client-api')}"),
        jar(f"software.amazon.awssdk:bundle:{SDK}"),
        jar("software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1"),
        first_of(f"{cloud}:{version}" for version in (pyspark.__version__, "4.1.2")),
    ]
    return [str(path) for path in found]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path_factory.mktemp("s3"))
    with store.process:
        yield store


def lives_in(
    tally: Tally, store: ObjectStore, folder: Path, jars: list[str], *, aborts: bool = True, **more: object
) -> Lives:
    """From files to files, with a checkpoint in S3.

    Args:
        aborts: Spark's logs are written by the manager for object stores, which does not rename.
    """
    conf = {
        "spark.hadoop.fs.s3a.endpoint": store.address,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "spark.hadoop.fs.s3a.access.key": "test",
        "spark.hadoop.fs.s3a.secret.key": "test",
    }
    if aborts:
        conf["spark.sql.streaming.checkpointFileManagerClass"] = MANAGER
    return make_lives(tally, folder, f"s3a://{BUCKET}/{folder.name}", jars=jars, conf=conf, **more)


@pytest.mark.parametrize(("interval", "version", "aborts"), MODES)
def test_killed_drivers(
    store: ObjectStore,
    jars: list[str],
    tmp_path: Path,
    interval: float | None,
    version: int,
    aborts: bool,
    tally: Tally,
) -> None:
    lives = lives_in(tally, store, tmp_path, jars, aborts=aborts, interval=interval, format=version)
    for batches in (4, 1, 5):
        lives.kill_one(batches)
    lives.end()
    check_batches(lives)


def test_a_store_that_is_slow_and_fails(store: ObjectStore, jars: list[str], tmp_path: Path, tally: Tally) -> None:
    lives = lives_in(tally, store, tmp_path, jars, interval=1.0, restarts=50, tolerable_failures=100)
    try:
        with lives.start() as life:
            life.wait_for("\nbatch 2\n")
            store.set(Faults(delay=0.1))
            life.wait_for("\nbatch 4\n")
            store.set(Faults(fails=0.2))
            life.wait_for("\nbatch 8\n")
        lives.faults = 2
    finally:
        store.set(Faults())
    lives.end()
    check_batches(lives)


@pytest.mark.parametrize("format", ["canonical", "native"])
def test_savepoints_and_another_parallelism(
    store: ObjectStore, jars: list[str], tmp_path: Path, format: str, tally: Tally
) -> None:
    """By the commands, and killed in each of the three folders that the query goes on in.

    Every batch is durable: what is taken of a killed query is then the batch that its sink has.
    """
    lives = lives_in(tally, store, tmp_path, jars, format=2)
    command = Command(lives, store.environment)
    first = lives.orders.checkpoint
    savepoint, restored, rescaled = (f"{first}-{name}" for name in ("savepoint", "restored", "rescaled"))
    lives.kill_one(4)
    command.run("savepoint", "create", first, "--to", savepoint, "--format", format, session=True)
    command.run("savepoint", "verify", savepoint)
    command.run("restore", savepoint, "--to", restored, "--parallelism", "3", session=True)
    lives.move(restored)
    lives.kill_one(3)
    command.run("rescale", restored, "--to", rescaled, "--parallelism", "2", session=True)
    lives.move(rescaled)
    lives.kill_one(3)
    lives.end()
    check_batches(lives)
    command.run("savepoint", "dispose", savepoint, session=True)
    below, objects = savepoint.removeprefix(f"s3a://{BUCKET}/"), store.keys()
    assert not [key for key in objects if key.startswith(f"{below}/")]


def requests(store: ObjectStore, lives: Lives, batches: tuple[int, int]) -> tuple[Counter[str], int]:
    """Between two batches of a life, and how many checkpoints were completed."""
    with lives.start() as life:
        life.wait_for(f"\nbatch {batches[0]}\n")
        store.counts()
        life.wait_for(f"\nbatch {batches[1]}\n")
        found = Counter(store.counts())
    return found, found.pop("_metadata")


def test_requests_of_a_batch_and_of_a_checkpoint(
    store: ObjectStore, jars: list[str], tmp_path: Path, tally: Tally
) -> None:
    """Of a query with one operator in two partitions; a table of it is in docs/running-on.md."""
    first, last = 4, 16
    batches = last - first
    table = {}
    found, _ = requests(store, lives_in(tally, store, tmp_path / "durable", jars), (first, last))
    table["a batch, each durable"] = {what: count / batches for what, count in found.items()}
    seldom, none = requests(store, lives_in(tally, store, tmp_path / "seldom", jars, interval=3600), (first, last))
    table["a batch between checkpoints"] = {what: count / batches for what, count in seldom.items()}
    often, checkpoints = requests(store, lives_in(tally, store, tmp_path / "often", jars, interval=0.01), (first, last))
    assert none == 0
    assert checkpoints > 3
    own = {what: (count - seldom[what]) / checkpoints for what, count in often.items() if what.startswith("Snapline")}
    table["a checkpoint"] = own
    for name, counts in table.items():
        print(name, {what: round(count, 1) for what, count in sorted(counts.items())})
