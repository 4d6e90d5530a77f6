"""`snapline` from the command line, on folders of the system that a query's checkpoint is in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from .life import Lives
from .process import PATIENCE


class Command:
    """Its Spark has the settings and jars of the lives' sessions, and no more.

    Args:
        environment: for commands that start no Spark.
    """

    def __init__(self, lives: Lives, environment: Mapping[str, str]) -> None:
        orders = lives.orders
        conf = {**orders.conf, "spark.jars": ",".join(orders.jars), "spark.local.dir": orders.local}
        self._session = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        self._session += ["--master", orders.master]
        self._environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **environment}

    def run(self, *arguments: str, session: bool = False) -> str:
        """What it printed.

        Args:
            session: whether it starts Spark.
        """
        command = [sys.executable, "-m", "snapline", *arguments, *(self._session if session else [])]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout
