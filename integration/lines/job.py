"""One step of a life, on the Spark of the Python that runs it: more input, and every query takes it in.

Arguments: the folder of the life, and the number of the step. Writes ``found-STEP.json`` into the folder: by query, the
rows that came out so far, and the states at the end.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.savepoint import create_savepoint, restore_savepoint
from tests.python.query.real_query import take_all_and_stop
from tests.python.savepoint.queries import QUERIES, StatefulQuery
from tests.python.spark_session import open_session

BATCHES = 2
# Longer than a step: its first batch has a checkpoint, and the next step replays those after it.
INTERVAL = CheckpointConfig(interval=timedelta(hours=1))


def main(life: Path, step: int) -> None:
    session = open_session("lines")
    found = {name: live(session, life, name, step) for name in QUERIES}
    (life / f"found-{step}.json").write_text(json.dumps(found))


def live(session: SparkSession, life: Path, name: str, step: int) -> dict[str, object]:
    """Three checkpoints of one query: every batch durable, an interval, and one that each step begins with the
    savepoint of the step before."""
    query = StatefulQuery(session, life / name, name)
    query.add_input(range(step * BATCHES, (step + 1) * BATCHES))
    query.run("each")
    take_all_and_stop(snapline.start(query.writer("interval"), INTERVAL))
    moved = f"moved-{step}"
    if step > 0:
        restore_savepoint(session, savepoint(life, name, step - 1), str(life / name / moved))
    query.run(moved)
    create_savepoint(session, str(life / name / moved), savepoint(life, name, step))
    return {
        "output": {folder: query.output(folder) for folder in ("each", "interval", moved)},
        "state": {folder: query.state(folder) for folder in ("each", moved)},
    }


def savepoint(life: Path, name: str, step: int) -> str:
    return str(life / name / f"savepoint-{step}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
