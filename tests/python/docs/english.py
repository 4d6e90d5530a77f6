"""Comments and docstrings of the product, and the sentences of them that break the house's rules of English."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .pages import TOP

LONGEST = 25
SOURCES = [*TOP.glob("jvm/*/src/main/**/*.scala"), *TOP.glob("python/src/**/*.py")]

# A subject that the reader has to guess.
_BEGINNING = re.compile(r"(What|Whatever|Whoever|Whom|Whose|Those that|That which|Of|Where it|Which)\b")
# The field has another word: aborted, failed, quarantined, user-triggered.
_OWN_WORD = re.compile(r"\b(was given up|be given up|is given up|c[ao]mes? to nothing|set aside|people ask for)\b")
_CODE = re.compile(r"``[^`]*``|`[^`\n]*`|\[\[[^\]]*\]\]")
_BLOCK = re.compile(r"/\*\*?(.*?)\*/|(?:^[ \t]*//[^\n]*\n)+", re.DOTALL | re.MULTILINE)
_MARGIN = re.compile(r"^\s*(?:/\*\*?|\*/|\*|//)[ \t]?", re.MULTILINE)
_TAG = re.compile(r"^\s*@(?:param|tparam|throws)\s+\S+|^\s*@(?:return|see|note)\b", re.MULTILINE)
_ENTRY = re.compile(r"^\s*[\w*, ]+: +(?=\S)")


class Text(NamedTuple):
    """Part of a comment: prose, or the description of a parameter or attribute."""

    line: int
    text: str
    is_entry: bool


def faults(path: Path) -> Iterator[str]:
    """Each sentence of a file that breaks a rule, with its place and the rule."""
    for part in scala(path) if path.suffix == ".scala" else python(path):
        for sentence in sentences(part.text):
            rule = broken(sentence, part.is_entry)
            if rule:
                yield f"{path.relative_to(TOP)}:{part.line}: {rule}: {sentence}"


def broken(sentence: str, is_entry: bool = False) -> str | None:
    if _BEGINNING.match(sentence) or (is_entry and re.match(r"of\b", sentence)):
        return "begin with the subject"
    if _OWN_WORD.search(sentence):
        return "use Flink's word"
    if max(len(part.split()) for part in re.split(r"(?<=[:;])\s|\s- ", sentence)) > LONGEST:
        return f"at most {LONGEST} words"
    return None


def sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*] ", _CODE.sub("X", text)):
        joined = " ".join(sentence.split())
        if joined:
            yield joined


def scala(path: Path) -> Iterator[Text]:
    source = path.read_text()
    for block in _BLOCK.finditer(source):
        line = source.count("\n", 0, block.start()) + 1
        body = _MARGIN.sub("", block[0]).replace("*/", "")
        prose, *entries = _TAG.split(body)
        yield Text(line, prose, False)
        yield from (Text(line, entry, True) for entry in entries)


def python(path: Path) -> Iterator[Text]:
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            for part in re.split(r"\n\s*\n|\n(?=\s*[\w*, ]+: )", text or ""):
                entry = _ENTRY.match(part)
                line = node.body[0].lineno if text else 0
                yield Text(line, part[entry.end() :] if entry else part, entry is not None)
    yield from remarks(source)


def remarks(source: str) -> Iterator[Text]:
    """Comments; those on lines that follow each other are one."""
    start = 0
    lines: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != start + len(lines):
                yield Text(start, "\n".join(lines), False)
                start, lines = token.start[0], []
            lines.append(token.string.lstrip("#: "))
    yield Text(start, "\n".join(lines), False)
