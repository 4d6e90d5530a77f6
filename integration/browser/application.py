"""A Spark application with checkpoints of every kind, and the history server that shows it afterwards."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.jar import checked_jar

CONFIG = CheckpointConfig(interval=timedelta(milliseconds=200), num_retained=3, tolerable_failed_checkpoints=10)
PARTITIONS = 3


class Orders:
    """A query with two stateful operators, fed by hand: one batch a call."""

    def __init__(self, spark: SparkSession, room: Path, name: str, once: bool = False) -> None:
        """`once`: into a table that has each row once."""
        self._input, self.checkpoint = room / "in", room / "checkpoint"
        self._input.mkdir(parents=True)
        self._written = 0
        self._write()
        rows = spark.readStream.schema("shop long, id long").option("maxFilesPerTrigger", 1).json(str(self._input))
        counts = rows.dropDuplicates(["shop", "id"]).groupBy("shop").count()
        writer = counts.writeStream.queryName(name).outputMode("update").format("noop")
        self._writer = writer.option("checkpointLocation", str(self.checkpoint))
        if once:
            url = f"jdbc:derby:{room / 'database'};create=true"
            self._writer = snapline.exactly_once(self._writer, name="per shop").jdbc(url, "counts")
        self.start()

    def _write(self) -> None:
        rows = ({"shop": row * 7 % 900, "id": self._written * 1000 + row} for row in range(1000))
        hidden = self._input / f".{self._written}"
        hidden.write_text("\n".join(json.dumps(row) for row in rows))
        hidden.rename(self._input / f"{self._written:05}.json")
        self._written += 1

    def start(self) -> None:
        self.query = snapline.start(self._writer, CONFIG)
        self._settle()

    def batches(self, count: int) -> None:
        """Each with a checkpoint: the interval is shorter than a batch."""
        for _ in range(count):
            self._write()
            self._settle()

    def _settle(self) -> None:
        self.query.processAllAvailable()
        deadline = time.monotonic() + 60
        while self.counts["in_progress"] and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def counts(self) -> dict[str, int]:
        return self.query.checkpoints()["counts"]

    def fail_one(self) -> None:
        """A file stands where the next checkpoint's folder should be."""
        obstacle = self.checkpoint / "snapline" / f"chk-{self.query.checkpoints()['history'][0]['id'] + 1}"
        obstacle.write_text("")
        self.batches(1)
        obstacle.unlink()


def open_spark(events: Path) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": PARTITIONS,
        "spark.ui.port": 0,
        "spark.ui.contentSecurityPolicy.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
    }
    builder = SparkSession.builder.appName("orders")
    return snapline.configure(builder.config(map=settings)).getOrCreate()


def address(spark: SparkSession) -> str:
    url = spark.sparkContext.uiWebUrl
    assert url is not None
    return f"http://localhost:{url.rpartition(':')[2]}"


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


@contextmanager
def history_server(events: Path, log: Path) -> Iterator[str]:
    """Spark's own, with our jar on its class path and nothing else of ours."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    java = shutil.which("java") or str(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    classes = f"{checked_jar().path}:{Path(pyspark.__file__).parent / 'jars' / '*'}"
    opened = [
        f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.nio", "java.util", "sun.nio.ch")
    ]
    settings = [f"-Dspark.history.fs.logDirectory={events.as_uri()}", f"-Dspark.history.ui.port={port}"]
    main = "org.apache.spark.deploy.history.HistoryServer"
    with log.open("w") as output:
        server = subprocess.Popen([java, *opened, "-cp", classes, *settings, main], stdout=output, stderr=output)
        try:
            wait_for_applications(f"http://localhost:{port}", server)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            server.wait(30)


def wait_for_applications(root: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, "the history server has ended"
        try:
            if fetch(f"{root}/api/v1/applications"):
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError("the history server shows no application")
