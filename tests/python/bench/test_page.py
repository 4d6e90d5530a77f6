# mypy: disable-error-code="import-not-found"
import re
from html.parser import HTMLParser

import pytest
from snapline_bench.page import no_plots, page
from snapline_bench.sheet import number, spread

BENCH = {
    "name": "soak",
    "title": "A title with <b>marks</b>.",
    "state": "done",
    "reason": "",
    "about": {"command": "bench/run soak", "seconds": 61.2, "other_load": 1.5, "load_average_most": 4.0},
    "quiet": False,
    "sizes": {"rows": 5},
    "figures": {"ms": "batch ms", "others": "other load, cores"},
    "rows": [
        {"provider": "changelog", "runs": 2, "median": {"ms": 200.0}, "least": {"ms": 150.0}, "most": {"ms": 1234.0}},
        {"provider": "snapline", "runs": 1, "median": {"ms": None}, "least": {"ms": None}, "most": {"ms": None}},
    ],
    "state_part": {"snapline": {"ms": 3.0}},
    "goals": [
        {
            "figure": "ms",
            "of": "snapline",
            "part": "whole",
            "against": "changelog",
            "limit": 1.0,
            "is": 0.5,
            "verdict": "met",
        },
        {
            "figure": "ms",
            "of": "snapline",
            "part": "absolute",
            "against": "",
            "limit": 5.0,
            "is": 9.0,
            "verdict": "MISSED",
        },
        {
            "figure": "ms",
            "of": "snapline",
            "part": "whole",
            "against": "hdfs",
            "limit": None,
            "is": 0.5,
            "verdict": "-",
        },
    ],
    "sheets": [{"title": "a sheet", "columns": ["a", "b"], "rows": [["1 < 2", "x"]]}],
    "drawn": [],
}
FAILED = {
    **BENCH,
    "name": "skew",
    "state": "failed",
    "reason": "no <figures>",
    "rows": [],
    "goals": [],
    "state_part": {},
}
REPORT = {
    "commit": "c1",
    "quick": True,
    "minutes": 2.5,
    "machine": {"cores": 2},
    "started": "now",
    "ended": None,
    "seconds": 61.2,
    "goals": {"met": 1, "missed": 1},
    "failures": ["skew: no <figures>"],
    "benches": [BENCH, FAILED],
}


class Seen(HTMLParser):
    """Which elements are open at the end, and what the page would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        told = dict(attributes)
        if tag in ("script", "link", "img", "iframe", "object") or "src" in told:
            self.fetched.append(tag)
        if tag == "a" and not (told["href"] or "").startswith("#"):
            self.fetched.append(str(told["href"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_one_file_that_loads_nothing() -> None:
    text = page(REPORT, no_plots)
    seen = Seen(text)
    assert (seen.open, seen.fetched) == ([], [])
    assert "url(" not in text
    assert "@import" not in text


def test_text_is_escaped() -> None:
    text = page(REPORT, no_plots)
    assert "no &lt;figures&gt;" in text
    assert "1 &lt; 2" in text
    assert "<b>marks</b>" not in text


def test_what_was_missed_comes_first() -> None:
    goals = page(REPORT, no_plots).partition("<h2>Goals</h2>")[2].partition("</section>")[0]
    assert re.findall("met|MISSED", re.sub("class='[a-z]+'", "", goals)) == ["MISSED", "met"]


def test_figures_show_their_range_and_gaps() -> None:
    text = page(REPORT, no_plots)
    assert "200<span class='range'>150 - 1,234</span>" in text
    assert "beside 1.5 cores of other work" in text
    assert "mean little" in text


def test_plots_are_those_of_the_bench() -> None:
    text = page(REPORT, lambda bench: [f"<svg id='{bench['name']}-0'></svg>"])
    assert "<svg id='soak-0'></svg>" in text
    assert "skew-0" not in text, "nothing to draw"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0312, "0.0312"),
        (7.128, "7.13"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (4.0, "4"),
        (float("nan"), "not measured"),
    ],
)
def test_numbers(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_spread_of_one_is_a_number() -> None:
    assert spread(2.5, 2.5, 2.5) == "2.50"
    assert spread(2.5, 1.5, 200.0) == "2.50 (1.50 - 200)"
