from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import snapline


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A client of a server that pyspark starts in this process."""
    pytest.importorskip("grpc", reason="pip install -r integration/connect/requirements.txt")
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
    session = snapline.configure(builder).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def plain_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server without Snapline, as Spark's own script starts it."""
    pytest.importorskip("grpc", reason="pip install -r integration/connect/requirements.txt")
    import pyspark

    home, port = Path(pyspark.__file__).parent, 15_207
    command = [home / "bin" / "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += ["--master", "local[1]", "--conf", f"spark.connect.grpc.binding.port={port}"]
    command += ["--conf", "spark.ui.enabled=false", "spark-internal"]
    work = tmp_path_factory.mktemp("server")
    environment = {**os.environ, "SPARK_HOME": str(home)}
    with (work / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=work, env=environment, stdout=log, stderr=log)
    try:
        yield f"sc://localhost:{port}"
    finally:
        server.terminate()
        server.wait(60)
