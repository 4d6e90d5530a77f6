"""Goes on with exported checkpoints on Spark alone, in a process without Snapline's jar.

Arguments: a folder, and names of queries. Each has a folder of its name there, with ``input`` and ``exported``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from snapline.savepoint.foreign import ROCKSDB
from tests.python.savepoint.queries import StatefulQuery


def main(work: Path, names: list[str]) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    session = builder.config("spark.sql.streaming.stateStore.providerClass", ROCKSDB).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    assert "snapline" not in session.sparkContext.getConf().get("spark.jars", "")
    for name in names:
        StatefulQuery(session, work / name, name).run("exported")
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
