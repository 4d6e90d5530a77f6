"""The exactly-once JDBC sink on PostgreSQL: drivers are killed, the server stalls, dies, and ends connections.

SNAPLINE_SINK_KILLS: how many drivers are killed in each mode (4).
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from ..drill.lives import SEED
from ..drill.tally import Tally
from .artifacts import jar
from .files_query import make_lives
from .life import Lives
from .postgres import Postgres
from .test_exactly_once_kafka import KILLS

MODES = [
    pytest.param({"interval": None, "format": 2}, id="every-batch-2"),
    pytest.param({"interval": 1.0, "format": 1}, id="interval-1"),
]


def lives_into(tally: Tally, postgres: Postgres, table: str, folder: Path, **more: object) -> Lives:
    """Rows of JSON files into a table that the sink makes."""
    sink = {"url": f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres", "table": table, "user": "postgres"}
    driver = str(jar("org.postgresql:postgresql:42.7.8"))
    checkpoint = str(folder / "checkpoint")
    return make_lives(tally, folder, checkpoint, sink="snapline-jdbc", sink_options=sink, jars=[driver], **more)


def check_table(postgres: Postgres, table: str, lives: Lives) -> None:
    found = [tuple(row) for row in postgres.run(f"select k, seq, n, total from {table}")]
    again = [row for row, times in Counter(found).items() if times > 1]
    assert not again, f"seed {SEED}: {len(again)} results came twice, such as {again[0]}"
    lives.check(found)


@pytest.mark.parametrize("mode", MODES)
def test_killed_drivers(
    postgres: Postgres, tmp_path: Path, tally: Tally, mode: dict[str, object], request: pytest.FixtureRequest
) -> None:
    table = "killed_" + request.node.callspec.id.replace("-", "_")
    lives = lives_into(tally, postgres, table, tmp_path, **mode)
    chance = random.Random(SEED)
    for _ in range(KILLS):
        lives.kill_one(chance.randint(0, 4))
    lives.end()
    check_table(postgres, table, lives)


def test_a_server_that_stalls_and_dies(postgres: Postgres, tmp_path: Path, tally: Tally) -> None:
    lives = lives_into(tally, postgres, "stalls", tmp_path, interval=1.0, restarts=60)
    lives.stall_and_restart(postgres)
    lives.end()
    check_table(postgres, "stalls", lives)


def test_a_server_that_ends_connections_at_random(postgres: Postgres, tmp_path: Path, tally: Tally) -> None:
    """No query fails: its tasks begin their transactions anew."""
    lives = lives_into(tally, postgres, "ended", tmp_path)
    chance, over, ended = random.Random(SEED), threading.Event(), 0

    def end_connections() -> None:
        nonlocal ended
        while not over.wait(chance.uniform(0.05, 0.4)):
            found = postgres.run(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where datname = 'postgres' and pid <> pg_backend_pid()"
            )
            ended += len(found)

    thread = threading.Thread(target=end_connections)
    thread.start()
    try:
        lives.end()
    finally:
        over.set()
        thread.join()
    print(f"{ended} connections ended")
    assert ended, "no connection was ended"
    lives.faults = ended
    check_table(postgres, "ended", lives)
