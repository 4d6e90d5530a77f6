"""What the queries have left behind, read without Spark, against an uninterrupted run and against plain Python.

Two things are compared with all of what a work has left, row by row: what the same job left that ran once on the same
input, by plain Spark and without a coordinator, a kill or a restart; and what `expected.py` computes. The first says
that kills change nothing, the second that both are not wrong in the same way.

It is enough because the batches are the same, whenever a life ends: `feed.py` gives one file at a time. Batches without
rows, which Spark leaves out after a restart, are there in `windows` and `sessions` only: no row of theirs is near the
watermark, so that their output does not depend on how rows fall into batches. Compared are therefore

- `totals`: each row of each batch, with the number of the batch;
- `chains`: each link of the digest of every key, which says what rows and timers came before it, in what order;
- `windows`: all windows that the last watermark has closed, each once;
- `sessions`: the same of session windows with a Python function;
- the final state of each, read from storage after a start without an interval has made it durable.

The time of the clock that a link of `chains` has seen differs from run to run. It must be the same in the state and in
the output, for it is that of the batch.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq

from .expected import Results
from .tally import Tally


def check_output(tally: Tally, work: Path, *expected: Results) -> None:
    """
    Raises:
        AssertionError: they are not the same as all of these.
    """
    found = read_results(work)
    for name in found.state:
        outputs = [found.output[name], *(each.output[name] for each in expected)]
        if any(rows[0][0] is None for rows in outputs if rows):
            # Which batch a file is of is not known when Spark has compacted the sink's log.
            outputs = [[row[1:] for row in rows] for rows in outputs]
        tally.compare(f"{work}: output of {name}", *outputs)
        tally.compare(f"{work}: state of {name}", found.state[name], *(each.state[name] for each in expected))


def read_results(work: Path) -> Results:
    """
    Raises:
        AssertionError: the clock times of `chains` in its state are not those of its output.
    """
    results = Results(state=json.loads((work / "state.json").read_text()))
    for name in results.state:
        table = work / f"{name}.db"
        rows = rows_in_sqlite(table) if table.exists() else rows_in_files(work / name)
        if name in ("windows", "sessions"):
            rows = [row[1:] for row in rows]
        if name == "chains":
            clocks = {(row[1], row[2]): row[-1] for row in rows}
            for k, n, _, at in results.state[name]:
                assert clocks[k, n] == at, f"{work}: time of chain {k}"
            results.state[name] = [row[:-1] for row in results.state[name]]
            rows = [row[:-1] for row in rows]
        results.output[name] = sorted(rows)
    return results


def rows_in_sqlite(path: Path) -> list[list[object]]:
    with sqlite3.connect(path) as db:
        return [[batch, *json.loads(row)] for batch, row in db.execute("select batch, row from rows")]


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
    return [[None, *row.values()] for table in tables for row in table.to_pylist()]
