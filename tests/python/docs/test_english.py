"""Comments and docstrings name their subject, in sentences of at most 25 words, with Flink's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .english import SOURCES, broken, faults, python, scala, sentences
from .pages import TOP


def test_every_comment_is_plain() -> None:
    assert len(SOURCES) > 300
    found = [fault for path in SOURCES for fault in faults(path)]
    assert not found, "\n".join(found)


def test_no_sentence_of_a_page_hides_its_subject() -> None:
    pages = [TOP / "README.md", *(TOP / "docs").glob("*.md")]
    hidden = re.compile(r"^(?:- |\d+\. |\| )?(?:What|Whoever|Whatever|Those that) .*[^?\n]$", re.MULTILINE)
    found = {page.name: hidden.findall(page.read_text()) for page in pages}
    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("What a store holds.", "begin with the subject"),
        ("Of the last commit: its changes.", "begin with the subject"),
        ("The checkpoint was given up.", "use Flink's word"),
        (" ".join(["word"] * 26), "at most 25 words"),
        (" ".join(["word"] * 20) + "; " + " ".join(["word"] * 20), None),
        ("The content of a store. ", None),
    ],
)
def test_a_rule_that_is_broken_is_named(sentence: str, rule: str | None) -> None:
    assert broken(sentence) == rule


def test_a_parameter_is_a_noun_phrase() -> None:
    assert broken("of the query", is_entry=True)
    assert not broken("run id of the query", is_entry=True)


def test_comments_of_both_languages_are_found(tmp_path: Path) -> None:
    file = tmp_path / "A.scala"
    file.write_text(
        '/** One. Two\n  * lines.\n  *\n  * @param a\n  *   of b\n  */\nclass A {\n  // Three.\n  val s = "x"\n}\n'
    )
    found = [(text, part.is_entry) for part in scala(file) for text in sentences(part.text)]
    assert found == [("One.", False), ("Two lines.", False), ("of b", True), ("Three.", False)]
    file = tmp_path / "a.py"
    file.write_text('"""One."""\n# Two.\n# Three\n\n\ndef f(a):\n    """Four.\n\n    Args:\n        a: of b\n    """\n')
    found = [(text, part.is_entry) for part in python(file) for text in sentences(part.text)]
    assert found == [
        ("One.", False),
        ("Four.", False),
        ("Args:", False),
        ("of b", True),
        ("Two.", False),
        ("Three", False),
    ]
