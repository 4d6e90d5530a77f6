from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from snapline.stream.python_function import worker_interpreter


def context(master: str, **conf: str) -> Any:
    return SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: SimpleNamespace(get=conf.get))


def test_workers_on_this_machine_run_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert worker_interpreter(context("local[2]")) == sys.executable
    assert worker_interpreter(context("spark://somewhere:7077")) == "python3"


def test_what_spark_was_told_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    assert worker_interpreter(context("local[2]")) == "python3"
    monkeypatch.delenv("PYSPARK_PYTHON")
    told = context("local[2]", **{"spark.pyspark.python": "python3"})
    assert worker_interpreter(told) == "python3"
