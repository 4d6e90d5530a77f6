"""docs/cli.md says what the commands say of themselves."""

from __future__ import annotations

from .cli_page import PAGE, page
from .pages import text


def test_the_page_is_that_of_todays_commands() -> None:
    assert text(PAGE) == page(), "run scripts/pages"
