"""docs/FORMAT.md names every magic, format number and member that the jar and the package write."""

from __future__ import annotations

import re

import pytest

from snapline.format.frame import END_MAGIC, FORMAT_NUMBER, HEADER, TRAILER, newest_format
from snapline.format.names import Kind

from .pages import TOP, anchors, sections, text

PAGE = "docs/FORMAT.md"
CORE = "jvm/core/src/main/scala/io/snapline"
WRITERS = {
    f"{CORE}/snapshot/format/Meta.scala": ("3. Changelog", "4. Handle"),
    f"{CORE}/snapshot/merged/MergedFile.scala": ("10. Merged files",),
    f"{CORE}/checkpoint/MetadataJson.scala": ("9. `_metadata`",),
    "python/src/snapline/savepoint/metadata.py": ("11. Savepoints",),
}
# No members: the ending of a name, a member of an entry of Spark's log, and a value.
OTHERS = {"sst", "conf", "canonical"}
SECTION = re.compile(r"docs/FORMAT\.md,? section (\d+)")


@pytest.mark.parametrize("writer", WRITERS)
def test_members_are_described_where_they_belong(writer: str) -> None:
    written = set(re.findall(r'"([a-z][A-Za-z0-9]+)"', (TOP / writer).read_text())) - OTHERS
    assert len(written) >= 8
    described = "\n".join(sections(PAGE, 2)[heading] for heading in WRITERS[writer])
    # A handle's and a merged file's own words stand for what they share with a changelog.
    shared = sections(PAGE, 2)["3. Changelog"] + sections(PAGE, 2)["4. Handle"]
    missing = {name for name in written if not re.search(rf"[`\"]{name}[`\"]", described + shared)}
    assert missing == set()


def test_magics_and_numbers() -> None:
    frame = sections(PAGE, 2)["2. The frame: changelogs, handles, merged files and `_metadata`"]
    for kind in Kind:
        assert f"`{kind.magic.decode()}`" in frame
    assert f"`{END_MAGIC.decode()}`" in frame
    assert f"The trailer is {TRAILER.size} bytes long" in frame
    assert f"Blocks lie from byte {HEADER.size} " in frame
    assert f"format number: {FORMAT_NUMBER};" in frame
    scala = (TOP / CORE / "snapshot/format/Frame.scala").read_text()
    assert set(re.findall(r'"(SNAP[A-Z]{4})"', scala)) <= set(re.findall(r"`(SNAP[A-Z]{4})`", frame))


def test_format_numbers_are_those_that_are_read() -> None:
    """The jar's are held against the same table by FrameSpec."""
    frame = sections(PAGE, 2)["2. The frame: changelogs, handles, merged files and `_metadata`"]
    told = dict(re.findall(r"^\| `(SNAP[A-Z]{4})` \| ([\d, ]+) \|", frame, re.MULTILINE))
    assert told == {
        kind.magic.decode(): ", ".join(map(str, range(FORMAT_NUMBER, newest_format(kind) + 1))) for kind in Kind
    }


def test_sections_that_the_code_names() -> None:
    """By their numbers; of a few the heading is known, so that sections cannot change places unseen."""
    numbers = {int(heading.split(".")[0]): heading for heading in sections(PAGE, 2)}
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    named = {
        source: int(number)
        for folder in ("jvm", "python/src", "tests")
        for source in (TOP / folder).rglob("*.*")
        if source.suffix in (".py", ".scala")
        for number in SECTION.findall(source.read_text())
    }
    assert len(named) > 20
    assert set(named.values()) <= set(numbers)
    for source, words in (
        ("python/src/snapline/savepoint/metadata.py", "Savepoints"),
        ("python/src/snapline/format/merged.py", "Merged files"),
        ("python/src/snapline/folder/metadata.py", "_metadata"),
        (f"{CORE}/snapshot/store/StateRestore.scala", "Loading"),
        (f"{CORE}/snapshot/store/Retention.scala", "Clean-up"),
    ):
        assert words in numbers[named[TOP / source]]
    for number in re.findall(r"\(section (\d+)", text(PAGE)):
        assert int(number) in numbers
    assert len(anchors(TOP / PAGE)) > len(numbers)
