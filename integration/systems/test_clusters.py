"""Clusters of this machine: executors, workers and drivers are killed; the jar comes by --jars, or in the wheel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

import snapline

from ..cluster.test_cluster import executors
from ..drill.tally import Tally
from .files_query import check_batches, make_lives
from .process import ROOT
from .standalone import Standalone

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with Standalone(tmp_path_factory.mktemp("standalone"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, as installed."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([str(ROOT / "scripts" / "wheel")], check=True, stdin=subprocess.DEVNULL)
    built = ROOT / "dist" / f"snapline-{snapline.__version__}-py3-none-any.whl"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(built)]
    subprocess.run(pip, check=True)
    return folder


def submit(folder: Path, *options: str) -> list[str]:
    """The command that runs `job.py` by Spark's launcher. The executors get it by --py-files."""
    script = folder / "submitted.py"
    script.write_text("from integration.systems.job import main\n\nmain()\n")
    modules = folder / "modules.zip"
    with zipfile.ZipFile(modules, "w") as archive:
        for package in ("integration/", "integration/systems/"):
            archive.writestr(f"{package}__init__.py", "")
        for name in ("job", "orders", "sinks"):
            archive.write(Path(__file__).with_name(f"{name}.py"), f"integration/systems/{name}.py")
    return [str(SUBMIT), *options, "--py-files", str(modules), str(script)]


def test_spark_submit_with_the_jar(cluster: Standalone, tmp_path: Path, tally: Tally) -> None:
    command = submit(tmp_path, "--master", cluster.address, "--jars", str(snapline.jar_path()))
    lives = make_lives(
        tally,
        tmp_path,
        str(tmp_path / "checkpoint"),
        master=cluster.address,
        interval=1.0,
        format=2,
        restarts=60,
        conf={"spark.executor.memory": "512m"},
        command=command,
        environment={"PYSPARK_PYTHON": sys.executable},
    )
    with lives.start() as life:
        life.wait_for("\nbatch 2\n")
        os.kill(executors(cluster.workers[0].pid)[0], signal.SIGKILL)
        life.wait_for("\nbatch 5\n")
        cluster.workers[1].kill()
        life.wait_for("\nbatch 8\n")
        cluster.start_again(1)
    tally.kills += 2
    lives.faults = 2
    lives.kill_one(2)
    lives.end()
    check_batches(lives)


def test_the_wheel(cluster: Standalone, wheel: Path, tmp_path: Path, tally: Tally) -> None:
    lives = make_lives(
        tally,
        tmp_path,
        str(tmp_path / "checkpoint"),
        master=cluster.address,
        conf={"spark.executor.memory": "512m"},
        environment={"PYTHONPATH": f"{wheel}:{ROOT}"},
    )
    lives.kill_one(4)
    assert f"snapline of {wheel}/" in lives.end()
    check_batches(lives)


def test_three_executors_of_a_local_cluster(tmp_path: Path, tally: Tally) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    lives = make_lives(tally, tmp_path, checkpoint, master="local-cluster[3,1,1024]", interval=1.0, restarts=60)
    with lives.start() as life:
        for batch in (2, 5):
            life.wait_for(f"\nbatch {batch}\n")
            os.kill(executors(life.pid)[0], signal.SIGKILL)
        life.wait_for("\nbatch 8\n")
    tally.kills += 2
    lives.faults = 2
    lives.end()
    check_batches(lives)
