"""The code on the pages: all of it compiles, and what needs no Spark is run."""

import json
import re
from importlib.util import find_spec

import pytest

from .pages import GUIDES, code

FLIGHTS = "tailnum string, sched timestamp, dest string, dep_delay bigint"
NEEDS_SPARK = re.compile(r"\b(spark|reports|planes|writer)\b|key_by|snapline\.(async_)?process\(")


@pytest.mark.parametrize("page", GUIDES)
def test_python_compiles(page):
    for number, block in enumerate(code(page, "python")):
        compile(block, f"{page}, block {number}", "exec")


@pytest.mark.parametrize("page", GUIDES)
def test_json_is_json(page):
    for block in code(page, "json"):
        json.loads(block)


def test_there_is_code():
    assert sum(len(code(page, "python")) for page in GUIDES) > 40


@pytest.mark.parametrize(
    "page",
    ["docs/keyed-state.md", "docs/operator-state.md", "docs/real-time.md", "docs/tutorial.md", "docs/windows.md"],
)
def test_what_needs_no_spark_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    imports = "from datetime import timedelta\nimport snapline\nfrom snapline import *"
    names = {"__name__": "page", "FLIGHTS": FLIGHTS}
    exec(imports, names)
    ran = 0
    for number, block in enumerate(code(page, "python")):
        if NEEDS_SPARK.search(block) or ("polars" in block and not find_spec("polars")):
            continue
        exec(compile(block, f"{page}, block {number}", "exec"), names)
        ran += 1
    assert ran >= 2
