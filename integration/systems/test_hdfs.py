"""The checkpoint folder in HDFS: killed drivers, data nodes that go, a name node that starts anew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..drill.tally import Tally
from .files_query import check_batches, make_lives
from .hdfs import Hdfs
from .life import Lives

MODES = [pytest.param(None, 1, id="every-batch"), pytest.param(1.0, 2, id="interval")]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    hdfs = Hdfs(tmp_path_factory.mktemp("hdfs"))
    with hdfs.process:
        yield hdfs


def lives_in(tally: Tally, hdfs: Hdfs, folder: Path, **more: object) -> Lives:
    # Two data nodes: a third to go on with is not to be had.
    conf = {
        "spark.hadoop.dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
        "spark.hadoop.dfs.replication": "2",
        **more.pop("conf", {}),  # type: ignore[dict-item]
    }
    return make_lives(tally, folder, f"{hdfs.address}/{folder.name}", conf=conf, **more)


@pytest.mark.parametrize(("interval", "version"), MODES)
def test_killed_drivers(hdfs: Hdfs, tmp_path: Path, interval: float | None, version: int, tally: Tally) -> None:
    lives = lives_in(tally, hdfs, tmp_path, interval=interval, format=version)
    for batches in (4, 1, 5):
        lives.kill_one(batches)
    lives.end()
    check_batches(lives)


def test_data_nodes_go_and_the_name_node_starts_anew(hdfs: Hdfs, tmp_path: Path, tally: Tally) -> None:
    lives = lives_in(tally, hdfs, tmp_path, interval=1.0, restarts=60, tolerable_failures=100)
    with lives.start() as life:
        life.wait_for("\nbatch 2\n")
        hdfs.order("stop a data node")
        life.wait_for("\nbatch 5\n")
        hdfs.order("start data nodes")
        life.wait_for("\nbatch 7\n")
        hdfs.order("stop the name node")
        time.sleep(5)
        hdfs.order("start the name node")
        life.wait_for("\nbatch 11\n")
    lives.faults = 2
    lives.end()
    check_batches(lives)
