"""A server of its own, whose clients come and go."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import snapline
from snapline.jar import EXTENSION_CLASS, PLUGIN_CLASS
from snapline.launch import spark_home
from snapline.session import EXTENSIONS, PLUGINS, RELATIONS, RELATIONS_CLASS

CLIENT = Path(__file__).with_name("client.py")
SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


class Server:
    """One process after the other, on one port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as any_port:
            any_port.bind(("localhost", 0))
            self.port = any_port.getsockname()[1]
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        conf = {
            EXTENSIONS: EXTENSION_CLASS,
            PLUGINS: PLUGIN_CLASS,
            RELATIONS: RELATIONS_CLASS,
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.ui.enabled": "false",
        }
        command = [f"{spark_home()}/bin/spark-submit", "--master", "local[2]", "--jars", str(snapline.jar_path())]
        settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        environment = {**without_spark(), "PYSPARK_PYTHON": sys.executable}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *settings, "--class", SERVER_CLASS, "spark-internal"],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self.folder,
            )
        wait_for(self.answers)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "server.log").read_text()[-2000:]
        with socket.socket() as client:
            return client.connect_ex(("localhost", self.port)) == 0

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def client(self, what: str, folder: str = "query") -> dict[str, Any]:
        """Runs a client to its end."""
        address = f"sc://localhost:{self.port}"
        command = [sys.executable, str(CLIENT), address, str(self.folder / folder), what]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=without_spark())
        assert ended.returncode == 0, ended.stderr[-3000:]
        told: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return told

    def commits(self, folder: str = "query") -> int:
        found = (self.folder / folder / "checkpoint" / "commits").glob("[0-9]*")
        return max((int(each.name) for each in found), default=-1)


def without_spark() -> dict[str, str]:
    """The environment without what a client in this process has put there: a token, and that there is a server."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    pytest.importorskip("grpc", reason="pip install -r integration/connect/requirements.txt")
    made = Server(tmp_path)
    made.start()
    yield made
    made.stop()


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def test_clients_come_and_go(server: Server) -> None:
    first = server.client("leave")
    # The client is gone, and its query goes on.
    reached = server.commits()
    wait_for(lambda: server.commits() > reached + 5)

    # Another client has a Python process of its own, and cannot take the folder.
    refused = server.client("stay")
    assert refused["refused"] == "SNAPLINE-CONFIG"
    assert "is running under a coordinator already" in refused["found"]
    beside = server.client("stay", "other")
    assert beside["id"] != first["id"]
    stopped = server.commits("other")
    time.sleep(1)
    assert server.commits("other") == stopped

    # The server is stopped, and another one begins: the query goes on from its newest checkpoint.
    server.stop()
    assert not companions_of(server)
    server.start()
    again = server.client("stay")
    assert again["id"] == first["id"]
    assert again["batch"] > reached + 5


def companions_of(server: Server) -> list[str]:
    """Command lines of Python processes beside a server; those of others do not have its folder as theirs."""
    found = subprocess.run(["pgrep", "-f", "snapline.companion"], capture_output=True, text=True).stdout.split()
    return [each for each in found if Path(f"/proc/{each}/cwd").resolve() == server.folder.resolve()]
