"""What the site has beside docs/: the README as its first page, and a page for each file or folder that is linked.

So every link works without a server and without the repository, and the pages are written as GitHub shows them. A
link to code may have a title: a text of the file, as a rule the name of a test. Here it leads to the line that has it.
"""

import html
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from diagrams import drawn

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"
README = TOP / "README.md"
CODE = PurePosixPath("code")
LANGUAGES = {".scala": "scala", ".py": "python", ".java": "java", ".sbt": "scala", ".js": "javascript"}
FENCED = re.compile(r"^(```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r'(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=(?:\s+"[^"]*")?\))')
LOADED = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href|srcset)="?(?:https?:)?//[^>]*>')
TITLED = re.compile(r'href="([^"#]+)" title="([^"]+)"')

# What a page of the site is made from, by its place there.
_origins: dict[str, Path] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Pages that the nav does not name go behind those it does."""
    named = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    rest = [page for page in pages if page not in named]
    notes = [page for page in rest if page.startswith("notes/")]
    more = [page for page in rest if page not in notes]
    config.nav.extend({title: found} for title, found in (("More", more), ("Design notes", notes)) if found)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    _origins.clear()
    _origins.update({file.src_uri: DOCS / file.src_uri for file in files.documentation_pages()})
    _add(files, config, README)
    pending = list(_origins.values())
    while pending:
        for target in _targets(pending.pop()):
            if _place(target) not in _origins and (target.is_dir() or not target.is_relative_to(DOCS)):
                _add(files, config, target)
                pending.append(target)
    style = Path(__file__).with_name("style.css")
    files.append(File.generated(config, style.name, abs_src_path=str(style)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    # A page of code may hold sources of diagrams as text.
    if _origins[page.file.src_uri].suffix == ".md":
        markdown = drawn(markdown)
    origin = _origins[page.file.src_uri]
    here = PurePosixPath(page.file.src_uri).parent

    def on_site(link: re.Match[str]) -> str:
        target = _resolve(origin, link[1])
        return link[0] if target is None else os.path.relpath(_place(target), here) + (link[2] or "")

    return "".join(part if part.startswith("```") else LINK.sub(on_site, part) for part in FENCED.split(markdown))


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    origins = {file.dest_uri: _origins[file.src_uri] for file in files.documentation_pages()}
    here = PurePosixPath(page.file.dest_uri).parent

    def to_line(link: re.Match[str]) -> str:
        origin = origins.get(os.path.normpath(here / link[1]))
        if origin is None or not _is_code(origin):
            return link[0]
        text = html.unescape(link[2])
        for number, line in enumerate(origin.read_text().splitlines(), 1):
            if text in line:
                return f'href="{link[1]}#__codelineno-0-{number}" title="{link[2]}"'
        raise PluginError(f"{page.file.src_uri} links to '{text}' in {origin}, which does not have it")

    return TITLED.sub(to_line, content)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    if (found := LOADED.search(output)) is not None:
        raise PluginError(f"{page.file.src_uri} loads something from elsewhere: {found[0]}")
    return output


def _add(files: Files, config: MkDocsConfig, origin: Path) -> None:
    _origins[_place(origin)] = origin
    files.append(File.generated(config, _place(origin), content=_text(origin)))


def _text(origin: Path) -> str:
    if origin.suffix == ".md":
        return origin.read_text()
    name = origin.relative_to(TOP).as_posix()
    head = f"---\ntitle: {name}\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n# {name}\n\n"
    if origin.is_dir():
        return head + "".join(
            f"- [{path.name}]({path.name})\n" if _has_page(path) else f"- {path.name}\n" for path in _inside(origin)
        )
    return f"{head}```` {{ .{LANGUAGES.get(origin.suffix, 'text')} linenums=1 }}\n{origin.read_text()}\n````\n"


def _targets(origin: Path) -> set[Path]:
    if origin.is_dir():
        return {path for path in _inside(origin) if _has_page(path)}
    if origin.suffix != ".md":
        return set()
    found = (_resolve(origin, link[1]) for link in LINK.finditer(FENCED.sub("", origin.read_text())))
    return {target for target in found if target is not None}


def _inside(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "__")))


def _has_page(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".md" or _is_code(path)


def _is_code(path: Path) -> bool:
    """Text, whatever it is called, that is no page of its own."""
    return path.is_file() and path.suffix != ".md" and b"\0" not in path.read_bytes()


def _resolve(origin: Path, link: str) -> Path | None:
    """What a link leads to in the tree; None for an address, and for what is not there: that is for MkDocs to tell."""
    target = Path(os.path.normpath((origin if origin.is_dir() else origin.parent) / link))
    if ":" in link or not target.exists():
        return None
    readme = target / "README.md"
    return readme if readme.exists() else target


def _place(target: Path) -> str:
    """Where a file or folder of the tree is on the site."""
    if target == README:
        return "index.md"
    if target.is_relative_to(DOCS) and target.is_file():
        return target.relative_to(DOCS).as_posix()
    inside = CODE / target.relative_to(TOP).as_posix()
    if target.is_dir():
        return str(inside / "index.md")
    return str(inside.parent / "index.md") if target.name == "README.md" else f"{inside}.md"
