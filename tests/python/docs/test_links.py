"""Links within the tree lead somewhere: to files, to headings, and to the tests they name."""

from __future__ import annotations

import re

import pytest

from .pages import PAGES, TOP, anchors, links, prose


@pytest.mark.parametrize("page", PAGES)
def test_files_and_headings_are_there(page: str) -> None:
    for link in links(page):
        assert link.file.exists(), f"{page} links to {link.file.relative_to(TOP)}"
        if link.anchor is not None:
            assert link.file.suffix == ".md", f"{page}: {link.anchor} in {link.file.name}"
            assert link.anchor in anchors(link.file), f"{page} links to #{link.anchor} of {link.file.relative_to(TOP)}"


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_a_link_names_are_there(page: str) -> None:
    for link in links(page):
        is_test = link.file.suffix in (".py", ".scala") and link.file.relative_to(TOP).parts[0] in (
            "tests",
            "integration",
        )
        assert is_test == (link.title is not None), (
            f"{page}: a link to a test names it, and no other has a title: {link}"
        )
        if link.title is not None:
            begin = f"def {link.title}(" if link.file.suffix == ".py" else f'test("{link.title}'
            assert begin in link.file.read_text().replace('test(s"', 'test("'), f"{page} names {link}"


#: Sources of facts, and standards.
PUBLIC = (
    r"(spark|nightlies|flink)\.apache\.org",
    r"www\.rfc-editor\.org",
    r"docs\.aws\.amazon\.com",
    r"cloud\.google\.com",
    r"learn\.microsoft\.com",
    r"github\.com/kubeflow",
)


@pytest.mark.parametrize("page", PAGES)
def test_addresses_are_written_out(page: str) -> None:
    """No page needs another to be read, and none names a place that only its writer has."""
    for address in re.findall(r"https?://[^\s)\"'`>]+", prose(page)):
        assert re.match(f"https://({'|'.join(PUBLIC)})/", address), f"{page}: {address}"


def test_every_page_of_the_docs_is_linked_from_the_readme_or_a_page() -> None:
    linked = {link.file for page in PAGES for link in links(page) if link.file != TOP / page}
    folders = {file for file in linked if file.is_dir()}
    lonely = [page for page in PAGES[1:] if TOP / page not in linked and (TOP / page).parent not in folders]
    assert lonely == []
