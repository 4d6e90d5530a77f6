"""docs/settings.md has every setting that the jar and the package read, with its default, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snapline.settings.checkpoint_config import CheckpointConfig
from snapline.settings.checks import _RULES
from snapline.settings.names import CHECKPOINTING
from snapline.settings.sizes import format_size

from .pages import TOP, sections

PAGE = "docs/settings.md"
JVM = TOP / "jvm"
# A size, a number, a fraction, one of several (the first is the default) or a flag (true unless it says otherwise).
READING = re.compile(
    r'\b(size|number|fraction|choice|flag)\(\s*([\w.]+)(?:,\s*(?:Seq\(\s*)?("[^"]*"|[^,)]+))?', re.DOTALL
)
NAME = re.compile(r'val (\w+)(?:: String)? = (?:(\w+)\.)?Prefix \+ "([\w.-]+)"')
LITERAL = re.compile(r'val (\w+) = "(spark\.snapline\.[\w.-]+)"')


def documented() -> dict[str, str]:
    """Defaults by name."""
    found = {}
    for heading, prefix in (("Snapline's own", ""), ("Checkpoints", CHECKPOINTING)):
        head, *rows = [line for line in sections(PAGE, 2)[heading].splitlines() if line.startswith("|")]
        columns = [cell.strip() for cell in head.split("|")]
        for row in rows[1:]:
            cells = [cell.strip() for cell in row.split("|")]
            found[prefix + cells[1].strip("`")] = cells[columns.index("default")].strip("`")
    return found


def of_the_jar() -> dict[str, str | None]:
    """Defaults by name; None where a text is read by other means."""
    found: dict[str, str | None] = {}
    for name, default in read_by_the_jar():
        found[name] = default if default is not None else found.get(name)
    return found


def read_by_the_jar() -> Iterator[tuple[str, str | None]]:
    files = [
        path
        for path in JVM.glob("*/src/main/scala/**/*.scala")
        if "spark.snapline." in path.read_text() or "Prefix +" in path.read_text()
    ]
    sources = {path.stem: path.read_text() for path in files}
    prefixes = {
        stem: prefix[1]
        for stem, source in sources.items()
        if (prefix := re.search(r'val Prefix = "(spark\.snapline\.[\w.]*)"', source))
    }
    for stem, source in sources.items():
        names = {val: prefixes[of or stem] + rest for val, of, rest in NAME.findall(source)}
        names |= dict(LITERAL.findall(source))
        yield from ((name, None) for name in names.values() if not name.endswith("."))
        for kind, val, default in READING.findall(source):
            setting = names.get(val) or dict(LITERAL.findall(sources.get(val.partition(".")[0], ""))).get("Setting")
            if setting is not None:
                yield setting, default_text(kind, default.strip())


def default_text(kind: str, default: str) -> str | None:
    """As the page writes it; None for what is made elsewhere."""
    if kind == "flag":
        return "false" if default.endswith("false") else "true"
    if default[0] == '"':
        return default.strip('"')
    if default[0].isupper():
        default = constant(default)
    elif kind == "choice":
        return None
    if kind != "size":
        return default.strip('"')
    number, _, shift = default.replace("L", "").partition("<<")
    size = int(number) << int(shift or 0)
    return format_size(size) if size else "none"


def constant(name: str) -> str:
    """`Name` of any object, `Object.Name` of that one's file."""
    owner, _, val = name.rpartition(".")
    sources = (path.read_text() for path in JVM.glob(f"*/src/main/scala/**/{owner or '*'}.scala"))
    return next(found[1] for source in sources if (found := re.search(rf"val {val}(?:: \w+)? = (.+)", source)))


def of_the_package() -> set[str]:
    config = set(CheckpointConfig().to_conf())
    optional = {CHECKPOINTING + name for name in ("interval", "incremental", "dir")}
    return set(_RULES) | config | optional


def test_the_page_has_what_the_package_reads() -> None:
    assert set(documented()) == of_the_package()


def test_the_page_has_what_the_jar_reads() -> None:
    found = of_the_jar()
    assert len(found) >= 25
    assert set(found) <= set(documented())


def test_defaults_are_the_jars() -> None:
    found = {name: default for name, default in of_the_jar().items() if default is not None}
    assert len(found) >= 20
    assert {name: documented()[name] for name in found} == found


def test_defaults_of_checkpoints_are_the_packages() -> None:
    found = CheckpointConfig().to_conf()
    assert len(found) >= 12
    assert {name: documented()[name] for name in found} == found


def test_other_pages_name_no_setting_that_there_is_not() -> None:
    for page in [TOP / "README.md", *(TOP / "docs").rglob("*.md")]:
        named = set(re.findall(r"spark\.snapline\.[a-z.-]*[a-z]", page.read_text())) - {
            "spark.snapline.execution.checkpointing"
        }
        assert named <= set(documented()), page
