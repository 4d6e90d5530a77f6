"""The code on the pages: all of it compiles, and what needs no Spark is run."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
PAGES = [
    "README.md",
    "docs/keyed-state.md",
    "docs/operator-state.md",
    "docs/checkpoints.md",
    "docs/tutorial.md",
    "docs/coming-from-pyflink.md",
    "docs/coming-from-transformwithstate.md",
]
FLIGHTS = "tailnum string, sched timestamp, dest string, dep_delay bigint"
NEEDS_SPARK = re.compile(r"\b(spark|reports)\b|key_by|snapline\.process\(")


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (TOP / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_compiles(page):
    assert blocks(page)
    for number, block in enumerate(blocks(page)):
        compile(block, f"{page}, block {number}", "exec")


@pytest.mark.parametrize("page", ["docs/keyed-state.md", "docs/operator-state.md", "docs/tutorial.md"])
def test_what_needs_no_spark_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    imports = "from datetime import timedelta\nimport snapline\nfrom snapline import *"
    names = {"__name__": "page", "FLIGHTS": FLIGHTS}
    exec(imports, names)
    ran = 0
    for number, block in enumerate(blocks(page)):
        if NEEDS_SPARK.search(block) or ("polars" in block and not find_spec("polars")):
            continue
        exec(compile(block, f"{page}, block {number}", "exec"), names)
        ran += 1
    assert ran >= 4


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (TOP / page).read_text()):
            assert ((TOP / page).parent / target).exists(), f"{page} links to {target}"
