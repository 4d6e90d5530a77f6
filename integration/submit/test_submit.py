"""The jar alone: Spark's own launcher, two settings, no Python in the query."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pyspark

import snapline

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SHELL = Path(pyspark.__file__).parent / "bin" / "spark-shell"


def shell(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs query.scala with these options of the launcher."""
    command = [str(SHELL), "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    command += [
        "--conf",
        "spark.sql.shuffle.partitions=2",
        *options,
        "-i",
        str(Path(__file__).with_name("query.scala")),
    ]
    environment = {**os.environ, "SNAPLINE_TEST_FOLDER": str(folder), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )


def test_the_jar_and_one_setting_are_enough(tmp_path: Path) -> None:
    run = shell(
        tmp_path,
        *("--jars", str(snapline.jar_path())),
        *("--conf", f"{PROVIDER}=io.snapline.spark.SnaplineStateStoreProvider"),
    )
    assert "provider in force: io.snapline.spark.SnaplineStateStoreProvider" in run.stdout, run.stdout + run.stderr
    written = [int(found) for found in re.findall(r"changelog bytes: (\d+)", run.stdout)]
    assert len(written) == 3
    assert all(size > 0 for size in written)
    # Each key's rows are ten seconds apart, so each row is a session; the watermark holds the last ones back.
    rows = re.search(r"rows: \[(\d+)\]", run.stdout)
    assert rows is not None, run.stdout
    assert 2_900 <= int(rows[1]) < 3_000
    assert list((tmp_path / "checkpoint/state/0/0").glob("*.changelog"))


def test_the_setting_without_the_jar_says_what_is_missing(tmp_path: Path) -> None:
    run = shell(tmp_path, "--conf", f"{PROVIDER}=io.snapline.spark.SnaplineStateStoreProvider")
    assert "io.snapline.spark.SnaplineStateStoreProvider" in run.stdout + run.stderr
    assert "ClassNotFoundException" in run.stdout + run.stderr
    assert "changelog bytes" not in run.stdout
