"""How far a job is, while it runs."""

from __future__ import annotations

import re
import threading
import time

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint.watched import watched


def test_says_how_many_tasks_are_done(spark: SparkSession) -> None:
    said: list[str] = []
    with watched(spark, "state n", said.append, pause=0.05):
        spark.sparkContext.parallelize(range(6), 6).foreach(lambda _: time.sleep(0.3))
    after = list(said)
    assert said[0] == "state n"
    counts = [int(found[1]) for text in said[1:] if (found := re.fullmatch(r"state n: (\d+) of 6 tasks", text))]
    assert len(counts) == len(said) - 1 >= 2
    assert counts == sorted(set(counts))
    # Nobody is left who could say something of other jobs.
    assert "snapline-progress" not in [thread.name for thread in threading.enumerate()]
    assert said == after
    assert not [tag for tag in spark.sparkContext.getJobTags() if tag.startswith("snapline-")]


def test_ends_with_what_it_watches(spark: SparkSession) -> None:
    said: list[str] = []
    with pytest.raises(ZeroDivisionError), watched(spark, "state n", said.append, pause=0.01):
        raise ZeroDivisionError
    assert said == ["state n"]
    assert not [tag for tag in spark.sparkContext.getJobTags() if tag.startswith("snapline-")]
