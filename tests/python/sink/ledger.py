"""A sink of people's own, on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

from snapline.sink import Marker, SinkPartition, TransactionalSink


class Ledger(TransactionalSink):
    """`BEGIN IMMEDIATE` takes the lock of the whole database: a second attempt waits for the first."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None

    @classmethod
    def made(cls, path: str) -> Ledger:
        with sqlite3.connect(path) as db:
            db.execute("create table ledger (k int, v int)")
            db.execute(
                "create table markers (sink text, part int, batch int, parts int, rows int, digest int, "
                "primary key (sink, part))"
            )
        return cls(path)

    @property
    def db(self) -> sqlite3.Connection:
        assert self._db is not None
        return self._db

    def open(self, partition: SinkPartition) -> None:
        self.key = (partition.sink, partition.partition)
        self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)

    def last_marker(self) -> Marker | None:
        if not self.db.in_transaction:
            self.db.execute("begin immediate")
        found = self.db.execute(
            "select batch, parts, rows, digest from markers where sink = ? and part = ?", self.key
        ).fetchone()
        return Marker(*found) if found else None

    def begin(self) -> None:
        assert self.db.in_transaction

    def write(self, rows: Any) -> None:
        self.db.executemany("insert into ledger values (?, ?)", [tuple(row.values()) for row in rows.to_pylist()])

    def commit(self, marker: Marker) -> None:
        values = (*self.key, marker.batch, marker.partitions, marker.rows, marker.digest)
        self.db.execute("insert or replace into markers values (?, ?, ?, ?, ?, ?)", values)
        self.db.execute("commit")

    def abort(self) -> None:
        if self._db is not None and self._db.in_transaction:
            self._db.execute("rollback")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def rows_of(path: str) -> Iterable[tuple[int, int]]:
    with sqlite3.connect(path) as db:
        return db.execute("select k, v from ledger").fetchall()
