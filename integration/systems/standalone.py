"""Spark's own cluster manager on this machine: a master and workers, each a JVM that starts the executors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyspark

from .process import Process, free_ports

CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
HOME = {
    "SPARK_HOME": str(CLASS.parents[1]),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


class Standalone:
    """Ends with all its executors when the `with` block is left."""

    def __init__(self, folder: Path, workers: int, hosts: Sequence[str] = ("127.0.0.1",)) -> None:
        """``hosts``: of the workers, in turn. Spark runs no second copy of a task on the host of the first."""
        self._folder = folder
        self._hosts = hosts
        (self._port,) = free_ports(1)
        self._master = self._start("master", "--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0")
        self._master.wait_for("New state: ALIVE", 180)
        self.workers = [self._start_worker(number) for number in range(workers)]

    def __enter__(self) -> Standalone:
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers, self._master]:
            process.kill()

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def start_again(self, number: int) -> None:
        """A worker that was killed."""
        self.workers[number] = self._start_worker(number)

    def _start_worker(self, number: int) -> Process:
        host = self._hosts[number % len(self._hosts)]
        place = ["--work-dir", str(self._folder / f"worker-{number}"), "--host", host, "--webui-port", "0"]
        worker = self._start("worker", *place, "--cores", "1", "--memory", "1g", self.address, log=f"worker-{number}")
        worker.wait_for("Successfully registered", 180)
        return worker

    def _start(self, kind: str, *arguments: str, log: str | None = None) -> Process:
        name = f"org.apache.spark.deploy.{kind}.{kind.capitalize()}"
        # Executors are of their worker's group: they end together.
        return Process([str(CLASS), name, *arguments], self._folder / f"{log or kind}.log", environment=HOME)
