"""Chromium, driven by Selenium, with nothing of its own on the network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1200",
)


@contextmanager
def browser(profile: Path, *, dark: bool = False) -> Iterator[object]:
    """A browser with a fresh profile; what it logs can be asked for."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if missing:
        pytest.fail(f"{' and '.join(missing)} not found. Install them (Debian: apt install chromium chromium-driver).")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        pytest.fail("selenium is not installed: .venv/bin/pip install -r integration/browser/requirements.txt")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        at_once = {"name": "prefers-reduced-motion", "value": "reduce"}  # what scrolls slowly is missed by a click
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme, at_once]})
        yield driver
    finally:
        driver.quit()
