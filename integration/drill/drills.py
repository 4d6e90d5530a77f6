"""The drills there are: tests that harm running queries and compare what they leave, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HERE = "integration/drill"
SYSTEMS = "integration/systems"


@dataclass(frozen=True)
class Drill:
    """
    Attributes:
        name: for `--only`.
        tests: of pytest, from the top of the tree.
        kills: SNAPLINE_KILLS of one run; None where the tests do not go by it.
    """

    name: str
    tests: Sequence[str]
    kills: int | None = None


DRILLS = (
    Drill("driver-killed", (f"{HERE}/test_kill_drill.py",), kills=120),
    Drill("unaligned-killed", (f"{HERE}/test_unaligned_kills.py",), kills=5),
    Drill("at-least-once-killed", (f"{HERE}/test_at_least_once.py",), kills=5),
    Drill("source-killed", ("tests/python/process/test_kill.py",)),
    Drill("executors-killed", (f"{HERE}/test_executors_killed.py", "integration/cluster/test_cluster.py"), kills=8),
    Drill("tasks-moved", (f"{HERE}/test_tasks_moved.py",)),
    Drill("elastic", (f"{HERE}/test_elastic.py",), kills=20),
    Drill("two-drivers", (f"{HERE}/test_two_drivers.py",)),
    Drill("damage", (f"{HERE}/test_damage.py",)),
    Drill("outage", (f"{HERE}/test_query_fails.py",)),
    Drill("full-disk", (f"{HERE}/test_full_disk.py",)),
    Drill("clock", (f"{HERE}/test_clock_jumps.py",)),
    Drill("kafka", (f"{SYSTEMS}/test_kafka.py",)),
    Drill("exactly-once-killed", (f"{SYSTEMS}/test_exactly_once_killed.py",)),
    Drill("hdfs", (f"{SYSTEMS}/test_hdfs.py",)),
    Drill("s3", (f"{SYSTEMS}/test_s3.py",)),
    Drill("postgres", (f"{SYSTEMS}/test_postgres.py",)),
    Drill("delta", (f"{SYSTEMS}/test_delta.py",)),
    Drill("clusters", (f"{SYSTEMS}/test_clusters.py",)),
)
