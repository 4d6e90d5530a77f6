# mypy: disable-error-code="import-not-found"
"""The tables of a run of some queries, or of some providers, hold what was measured and nothing else."""

from io import StringIO

from rich.console import Console
from rich.table import Table
from snapline_bench.goal import Goal, Part
from snapline_bench.report import figures_table, goals_table, medians_of

TITLES = {**{f"q{n}_cpu": f"q{n}: CPU us / event" for n in range(10)}, "others": "other load, cores"}
GOALS = [Goal(f"q{n}_cpu", Part.WHOLE, peer, 1.0) for peer in ("hdfs", "flink") for n in range(10)]
RUNS = [
    {"provider": "hdfs", "figures": {"q3_cpu": 4.0, "others": 0.0}},
    {"provider": "snapline", "figures": {"q3_cpu": 3.0, "others": 0.0}},
]


def printed(table: Table) -> str:
    paper = StringIO()
    Console(file=paper, width=150).print(table)
    return paper.getvalue()


def test_goals_of_one_query_beside_one_peer() -> None:
    text = printed(goals_table(medians_of(RUNS), GOALS, TITLES))
    [line] = [line for line in text.splitlines() if "q3" in line]
    assert "hdfs" in line
    assert "0.75" in line
    assert "met" in line
    assert "q5" not in text
    assert "flink" not in text
    assert "not measured: 19 more" in text


def test_nothing_is_said_of_goals_when_all_were_measured() -> None:
    assert "not measured" not in printed(goals_table(medians_of(RUNS), GOALS[3:4], TITLES))


def test_figures_that_nobody_has_take_no_line() -> None:
    text = printed(figures_table("nexmark", RUNS, medians_of(RUNS), TITLES))
    assert "q3" in text
    assert "other load" in text
    assert "q5" not in text
