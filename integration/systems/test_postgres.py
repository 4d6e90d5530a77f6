"""PostgreSQL as a sink of foreachBatch that has each batch once: killed drivers, a server that stalls and dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..drill.tally import Tally
from .artifacts import jar
from .files_query import make_lives
from .life import Lives
from .postgres import Postgres

MODES = [pytest.param(None, 2, id="every-batch"), pytest.param(1.0, 1, id="interval")]


def lives_into(tally: Tally, postgres: Postgres, table: str, folder: Path, **more: object) -> Lives:
    postgres.run(f"create table {table} (k int, seq bigint, n bigint, total bigint, batch bigint)")
    postgres.run(f"create table {table}_batches (id bigint primary key)")
    driver = str(jar("org.postgresql:postgresql:42.7.8"))
    sink = {"port": str(postgres.port), "table": table}
    return make_lives(
        tally, folder, str(folder / "checkpoint"), sink="postgres", sink_options=sink, jars=[driver], **more
    )


def check_table(postgres: Postgres, table: str, lives: Lives) -> None:
    lives.check(tuple(row) for row in postgres.run(f"select k, seq, n, total from {table}"))


@pytest.mark.parametrize(("interval", "version"), MODES)
def test_killed_drivers(postgres: Postgres, tmp_path: Path, interval: float | None, version: int, tally: Tally) -> None:
    table = f"killed_{version}"
    lives = lives_into(tally, postgres, table, tmp_path, interval=interval, format=version)
    for batches in (4, 1, 5):
        lives.kill_one(batches)
    lives.end()
    check_table(postgres, table, lives)


def test_a_server_that_stalls_and_dies(postgres: Postgres, tmp_path: Path, tally: Tally) -> None:
    lives = lives_into(tally, postgres, "stalls", tmp_path, interval=1.0, restarts=60)
    lives.stall_and_restart(postgres)
    lives.end()
    check_table(postgres, "stalls", lives)
