"""The exactly-once JDBC sink on SQLite and MariaDB: drivers are killed, rows are appended or replace others.

SNAPLINE_SINK_KILLS: how many drivers are killed in each mode (4).
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..drill.lives import SEED
from ..drill.tally import Tally
from .artifacts import jar
from .files_query import make_lives
from .mariadb import MariaDb
from .rows import final_state
from .test_exactly_once_kafka import KILLS
from .test_exactly_once_refused import refused

MARIADB_DRIVER = "org.mariadb.jdbc:mariadb-java-client:3.5.6"

Select = Callable[[str], list[tuple[int, ...]]]


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    with server.start():
        yield server


def on_sqlite(request: pytest.FixtureRequest) -> tuple[dict[str, str], str, Select]:
    path = request.getfixturevalue("tmp_path") / "sqlite.db"

    def select(statement: str) -> list[tuple[int, ...]]:
        with sqlite3.connect(path) as db:
            return db.execute(statement).fetchall()

    return {"url": f"jdbc:sqlite:{path}"}, "org.xerial:sqlite-jdbc:3.50.3.0", select


def on_mariadb(request: pytest.FixtureRequest) -> tuple[dict[str, str], str, Select]:
    server: MariaDb = request.getfixturevalue("mariadb")

    def select(statement: str) -> list[tuple[int, ...]]:
        return [tuple(map(int, row)) for row in server.run(statement)]

    return {"url": server.url, "user": "root"}, MARIADB_DRIVER, select


@pytest.mark.parametrize("database", [on_sqlite, on_mariadb])
@pytest.mark.parametrize("keys", [[], ["k"]], ids=["append", "upsert"])
def test_killed_drivers(
    tmp_path: Path, tally: Tally, keys: list[str], database: Callable[..., object], request: pytest.FixtureRequest
) -> None:
    options, driver, select = database(request)  # type: ignore[misc]
    table = "replaced" if keys else "appended"
    sink = {**options, "table": table, "keys": keys}
    checkpoint = str(tmp_path / "checkpoint")
    lives = make_lives(
        tally, tmp_path, checkpoint, sink="snapline-jdbc", sink_options=sink, jars=[str(jar(driver))], interval=1.0
    )
    chance = random.Random(SEED)
    for _ in range(KILLS):
        lives.kill_one(chance.randint(0, 4))
    lives.end()
    if keys:
        tally.compare(
            f"seed {SEED}, {table}", select(f"select k, n, total from {table}"), map(tuple, final_state(lives.rows))
        )
        tally.faults += lives.faults
    else:
        lives.check(select(f"select k, seq, n, total from {table}"))


def test_a_table_without_its_unique_key(tmp_path: Path, mariadb: MariaDb, tally: Tally) -> None:
    """MariaDB would append a row to it in each batch. With the key, the query goes on where it was."""
    mariadb.run("create table keyless (k int, seq bigint, n bigint, total bigint)")
    mariadb.run("create index of_keyless on keyless (k)")
    sink = {"url": mariadb.url, "user": "root", "table": "keyless", "keys": ["k"]}
    checkpoint = str(tmp_path / "checkpoint")
    driver = str(jar(MARIADB_DRIVER))
    lives = make_lives(tally, tmp_path, checkpoint, sink="snapline-jdbc", sink_options=sink, jars=[driver])
    refused(lives, "SNAPLINE-CONFIG", "no unique index of (k); its unique indexes: none", "CREATE UNIQUE INDEX")
    assert mariadb.run("select count(*) from keyless") == [["0"]]
    mariadb.run("create unique index snapline_key on keyless (k)")
    lives.end()
    found = [tuple(map(int, row)) for row in mariadb.run("select k, n, total from keyless")]
    tally.compare(f"seed {SEED}, keyless", found, map(tuple, final_state(lives.rows)))
