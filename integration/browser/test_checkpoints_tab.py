"""The Checkpoints tab as a person sees it: a live query, a failed checkpoint, a restore; then in the history server.

SNAPLINE_SCREENSHOTS=docs/images also keeps pictures of the pages.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .application import PARTITIONS, Orders, address, fetch, history_server, open_spark
from .chromium import browser

EVIL = "<script>window.hacked = 1</script>\"'><img src=x onerror='window.hacked = 2'> & more"
STORES = 2 * PARTITIONS
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


class Site:
    """The tab of one application, live or not."""

    def __init__(self, driver: Any, root: str, api: str, tab: str) -> None:
        self.driver, self.root, self.api, self.tab = driver, root, api, tab

    def open(self, path: str = "") -> None:
        self.driver.get(f"{self.root}{self.tab}{path}")

    def rows(self, table: str) -> list[list[str]]:
        found = self.driver.find_elements("css selector", f"#{table} tbody tr")
        return [[cell.text for cell in row.find_elements("css selector", "td, th")] for row in found]

    def click(self, text: str) -> None:
        self.driver.find_element("link text", text).click()

    def starts(self) -> list[dict[str, Any]]:
        starts: list[dict[str, Any]] = fetch(f"{self.api}/checkpoints")
        return starts

    def severe(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def spark(events: Path) -> Iterator[Any]:
    session = open_spark(events)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def orders(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orders]:
    """Its first start has ended, with a failed checkpoint; its second goes on from the last checkpoint of that."""
    evil = Orders(spark, tmp_path_factory.mktemp("evil"), EVIL)
    evil.query.stop()
    orders = Orders(spark, tmp_path_factory.mktemp("orders"), "orders per shop")
    orders.batches(8)
    orders.fail_one()
    orders.batches(6)
    orders.query.stop()
    orders.start()
    orders.batches(3)
    yield orders
    orders.query.stop()


@pytest.fixture
def once(spark: Any, orders: Orders, tmp_path: Path) -> Iterator[Orders]:
    """The newest, into a sink that has each row once."""
    once = Orders(spark, tmp_path / "once", "orders once", once=True)
    once.batches(3)
    yield once
    once.query.stop()


@pytest.fixture(params=["light", "dark"])
def site(request: pytest.FixtureRequest, spark: Any, orders: Orders, tmp_path: Path) -> Iterator[Site]:
    root = address(spark)
    api = f"{root}/api/v1/applications/{spark.sparkContext.applicationId}"
    with browser(tmp_path / "profile", dark=request.param == "dark") as driver:
        yield Site(driver, root, api, "/checkpoints/")


@pytest.fixture
def starts(site: Site) -> dict[str, str]:
    """Ids of the starts of this application."""
    second, first, evil = (start["id"] for start in site.starts())
    return {"second": second, "first": first, "evil": evil}


def picture(site: Site, name: str) -> None:
    folder = os.environ.get("SNAPLINE_SCREENSHOTS")
    if folder:
        theme = site.driver.find_element("css selector", "html").get_attribute("data-bs-theme")
        site.driver.save_screenshot(str(Path(folder) / f"checkpoints-{name}-{theme}.png"))


def test_a_live_query(site: Site, orders: Orders) -> None:
    site.open()
    running, ended = site.rows("running-table"), site.rows("ended-table")
    assert [row[:2] for row in running] == [["orders per shop", "RUNNING"]]
    assert [row[:2] for row in ended] == [["orders per shop", "SUSPENDED"], [EVIL, "SUSPENDED"]]
    picture(site, "queries")
    site.click("orders per shop")
    before = orders.counts
    assert site.rows("counts-table") == [
        [str(before[name]) for name in ("total", "in_progress", "completed", "failed", "restored")]
    ]
    orders.batches(2)
    site.driver.refresh()
    after = site.rows("counts-table")[0]
    assert int(after[2]) == before["completed"] + 2 == orders.counts["completed"]
    assert site.rows("latest-table")[0][1] == str(orders.query.checkpoints()["latest"]["completed"]["id"])


def test_a_failed_checkpoint(site: Site, starts: dict[str, str]) -> None:
    site.open(f"query/?id={starts['first']}")
    picture(site, "overview")
    failed = site.rows("latest-table")[2]
    assert failed[0] == "Failed"
    assert "FINALIZE_CHECKPOINT_FAILURE" in failed[-1]
    site.click("History")
    everything = site.rows("history")
    numbers = [int(row[0]) for row in everything]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 16
    assert {row[2] for row in everything} == {f"{STORES}/{STORES}"}
    picture(site, "history")
    site.click("Failed")
    assert [row[:2] for row in site.rows("history")] == [[failed[1], "FAILED"]]
    site.click(failed[1])
    alert = site.driver.find_element("css selector", ".alert-danger").text
    assert "FINALIZE_CHECKPOINT_FAILURE" in alert
    assert "SNAPLINE-STORAGE" in alert
    picture(site, "failed")


def test_a_restore(site: Site, starts: dict[str, str]) -> None:
    site.open(f"query/?id={starts['second']}")
    restored = site.rows("latest-table")[3]
    last = fetch(f"{site.api}/checkpoints/{starts['first']}")["latest"]["completed"]["id"]
    assert restored[:2] == ["Restored", str(last)]
    assert re.match(r"\d{4}/\d\d/\d\d ", restored[3])
    assert site.rows("counts-table")[0][4] == "1"


def test_operators_and_partitions(site: Site, starts: dict[str, str]) -> None:
    site.open(f"checkpoint/?id={starts['first']}&checkpoint=5")
    assert [row[1:3] for row in site.rows("operators-table")] == [
        ["stateStoreSave", f"{PARTITIONS}/{PARTITIONS}"],
        ["dedupe", f"{PARTITIONS}/{PARTITIONS}"],
    ]
    picture(site, "partitions")
    site.click("dedupe")
    assert "Partitions of Operator 1: dedupe" in site.driver.page_source
    site.click("Partition ▾" if site.driver.find_elements("link text", "Partition ▾") else "Partition")
    assert [row[0] for row in site.rows("partitions")] == [str(n) for n in reversed(range(PARTITIONS))]
    site.click("Partition ▾")
    assert [row[0] for row in site.rows("partitions")] == [str(n) for n in range(PARTITIONS)]
    site.click("Older (4)")
    assert "Checkpoint 4 of" in site.driver.title


def test_summary_plots_and_configuration(site: Site, starts: dict[str, str]) -> None:
    site.open(f"query/?id={starts['first']}")
    plots = site.driver.find_elements("css selector", "svg")
    assert [plot.size["width"] > 300 and plot.size["height"] > 100 for plot in plots] == [True, True]
    assert "1 failed" in plots[0].get_attribute("aria-label")
    assert len(plots[0].find_elements("css selector", "circle")) == 16
    site.click("Summary")
    assert [row[0] for row in site.rows("summary-table")] == ["End to end duration", "Checkpointed size", "Full size"]
    picture(site, "summary")
    site.click("Configuration")
    settings = {row[1].rpartition(".")[2]: row[2] for row in site.rows("configuration-table")}
    assert settings["interval"] == "200 ms"
    assert settings["tolerable-failed-checkpoints"] == "10"


def test_text_of_users_is_text(site: Site, starts: dict[str, str]) -> None:
    for path in ("", f"query/?id={starts['evil']}", f"checkpoint/?id={starts['evil']}&checkpoint=1"):
        site.open(path)
        assert EVIL in site.driver.find_element("tag name", "body").text
        assert site.driver.execute_script("return window.hacked") is None
        assert not site.driver.find_elements("css selector", "img[src=x]")


def test_nothing_comes_from_outside(site: Site, starts: dict[str, str]) -> None:
    """And the content security policy, which is on here, has nothing to refuse."""
    for path in ("", f"query/?id={starts['first']}", f"checkpoint/?id={starts['first']}&checkpoint=5"):
        site.open(path)
        loaded = site.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert loaded
        assert all(url.startswith(site.root) for url in loaded)
        assert site.severe() == []


def test_by_keyboard(site: Site, starts: dict[str, str]) -> None:
    from selenium.webdriver.common.keys import Keys

    site.open(f"query/?id={starts['first']}")
    seen = []
    for _ in range(80):
        site.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(site.driver.switch_to.active_element.text)
        if seen[-1] == "JSON":
            break
    ours = ["Overview", "History", "Summary", "Configuration"]
    assert [text for text in seen if text in ours] == ours
    assert seen[-1] == "JSON"
    site.open(f"query/?id={starts['first']}")
    while site.driver.switch_to.active_element.text != "History":
        site.driver.switch_to.active_element.send_keys(Keys.TAB)
    outline = "const s = getComputedStyle(document.activeElement); return s.outlineStyle + s.boxShadow"
    assert site.driver.execute_script(outline) != "nonenone", "one sees where the focus is"
    site.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(site.rows("history")) == 16


def test_readable_in_both_themes(site: Site, starts: dict[str, str], request: pytest.FixtureRequest) -> None:
    """As WCAG asks."""
    theme = request.node.callspec.params["site"]
    for path in (
        "",
        f"query/?id={starts['first']}",
        f"query/?id={starts['first']}&view=history",
        f"checkpoint/?id={starts['first']}&checkpoint=9",
    ):
        site.open(path)
        assert site.driver.find_element("css selector", "html").get_attribute("data-bs-theme") == theme
        worst = site.driver.execute_script(CONTRAST)
        assert worst["share"] >= 1, (path, worst)


def test_without_javascript(site: Site, starts: dict[str, str]) -> None:
    site.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    site.open(f"query/?id={starts['first']}")
    assert len(site.rows("latest-table")) == 4
    site.click("History")
    rows = site.rows("history")
    assert len(rows) == 16
    site.click(rows[-1][0])
    assert len(site.rows("partitions")) == PARTITIONS


def pages(site: Site, start: str) -> list[Any]:
    """What is shown of a start that has ended."""
    shown: list[Any] = []
    for path, tables in (
        (f"query/?id={start}", ("counts-table", "latest-table")),
        (f"query/?id={start}&view=history", ("history",)),
        (f"query/?id={start}&view=summary", ("summary-table",)),
        (f"query/?id={start}&view=configuration", ("configuration-table",)),
        (f"checkpoint/?id={start}&checkpoint=5", ("operators-table", "spread-table", "partitions")),
    ):
        site.open(path)
        shown += [site.rows(table) for table in tables]
    return shown


def test_a_sink_that_has_each_row_once(site: Site, once: Orders) -> None:
    (start,) = [each for each in site.starts() if each["status"] == "RUNNING" and each["name"] == "orders once"]
    newest = str(once.query.lastProgress["batchId"])
    deadline = time.monotonic() + 60
    # The tab hears of a batch a little later than the query.
    while True:
        site.open(f"query/?id={start['id']}")
        (row,) = site.rows("sink-table")
        if row[1] == newest or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    assert row[1] == newest
    assert row[-1] == "0", "no row was there already"
    picture(site, "sink")


def test_the_history_server_shows_the_same(orders: Orders, spark: Any, events: Path, tmp_path: Path) -> None:
    """The last test: it ends the application."""
    application = spark.sparkContext.applicationId
    with browser(tmp_path / "profile") as driver:
        live = Site(driver, address(spark), f"{address(spark)}/api/v1/applications/{application}", "/checkpoints/")
        first = live.starts()[-2]["id"]
        shown, json = pages(live, first), fetch(f"{live.api}/checkpoints/{first}")
        orders.query.stop()
        spark.stop()
        with history_server(events, tmp_path / "history.log") as root:
            api = f"{root}/api/v1/applications/{application}"
            past = Site(driver, root, api, f"/history/{application}/checkpoints/")
            assert {start["status"] for start in past.starts()} == {"SUSPENDED"}
            assert fetch(f"{api}/checkpoints/{first}") == json
            assert pages(past, first) == shown
            past.open()
            past.click("orders per shop")
            past.click("JSON")
            assert '"counts"' in driver.page_source
