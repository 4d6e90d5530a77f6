"""What the queries have left behind, read without Spark, against what is expected."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq

from .expected import Expected


def check_output(work: Path, expected: Expected) -> None:
    state = json.loads((work / "state.json").read_text())
    tables = {name: work / f"{name}.db" for name in state}
    output = {
        name: rows_in_sqlite(table) if table.exists() else rows_in_files(work / name) for name, table in tables.items()
    }
    for name in state:
        there = output[name] if name != "chains" else sorted(row[:-1] for row in output[name])
        assert there == expected.output[name], f"{work}: output of {name}"
        found = state[name] if name != "chains" else [row[:-1] for row in state[name]]
        assert found == expected.state[name], f"{work}: state of {name}"
    if "chains" in state:
        # The clock of the state is that of the batch whose output the sink has.
        clocks = {(row[0], row[1]): row[-1] for row in output["chains"]}
        for k, n, _, at in state["chains"]:
            assert clocks[k, n] == at, f"{work}: time of chain {k}"


def rows_in_sqlite(path: Path) -> list[list[object]]:
    with sqlite3.connect(path) as db:
        return sorted(json.loads(row) for (row,) in db.execute("select row from rows"))


def rows_in_files(folder: Path) -> list[list[object]]:
    """Those that the sink's log names: what a batch that was cut short has written is none of it."""
    log = folder / "_spark_metadata"
    batches = {int(path.name.partition(".")[0]): path for path in log.iterdir() if path.name[0].isdigit()}
    compacted = [batch for batch, path in batches.items() if path.name.endswith(".compact")]
    names: set[str] = set()
    for batch, path in batches.items():
        if batch >= max(compacted, default=0):
            names |= {json.loads(line)["path"] for line in path.read_text().splitlines()[1:]}
    tables = [pq.read_table(folder / Path(name).name) for name in names]
    return sorted(list(row.values()) for table in tables for row in table.to_pylist())
