"""What a reader of the documentation would stumble over: ``python tools/check_docs.py docs docs/_build/html``.

- addresses inside the built pages that lead nowhere, anchors included, and anything that is loaded from elsewhere;
- links in the sources that lead nowhere on a forge, where pages are read as they are;
- pages that no link in the text of another page leads to (a table of contents is not seen on a forge);
- lines of code that are wider than their boxes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

WIDTH = 88
_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w{}-]*)[^\n]*\n(?P<body>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_LOADED = {"link": "href", "img": "src", "script": "src"}


class _Page(HTMLParser):
    """Collects a page's anchors, the addresses it refers to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if anchor := values.get("id"):
            self.anchors.add(anchor)
        name = {"a": "href", **_LOADED}.get(tag)
        if name and (address := values.get(name)):
            self.addresses.append(address)
            if tag in _LOADED and values.get("rel") not in ("search", "canonical"):
                self.loaded.append(address)


def broken_in_site(site: Path) -> Iterator[str]:
    """Addresses inside a built site that lead nowhere, and parts of pages that come from another host."""
    pages: dict[Path, _Page] = {}
    for path in site.rglob("*.html"):
        pages[path] = parser = _Page()
        parser.feed(path.read_text(encoding="utf-8"))
    for path, parser in pages.items():
        where = path.relative_to(site)
        yield from (f"{where}: loads {one}" for one in parser.loaded if urlsplit(one).netloc)
        for address in parser.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                yield f"{where}: leads nowhere: {address}"


def broken_on_a_forge(docs: Path) -> Iterator[str]:
    """Links in the sources that lead nowhere, and pages that no link of another page leads to."""
    pages = sources(docs)
    reached = {docs / "index.md"}
    for page in pages:
        for match in _LINK.finditer(without_code(page.read_text(encoding="utf-8"))):
            parts = urlsplit(match["target"])
            if parts.scheme or not parts.path:
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            if not target.exists():
                yield f"{page.relative_to(docs)}: leads nowhere: {match['target']}"
            elif target != page.resolve():
                reached.add(target)
    for page in pages:
        if page.resolve() not in {one.resolve() for one in reached}:
            yield f"{page.relative_to(docs)}: no page leads here"


def outside_contents(docs: Path) -> Iterator[str]:
    """Pages that are in no table of contents; Sphinx says so too, but only in minutes."""
    listed = {docs / "index.md"}
    for page in sources(docs):
        for block in _FENCE.finditer(page.read_text(encoding="utf-8")):
            if block["language"] == "{toctree}":
                listed |= {(page.parent / f"{line}.md").resolve() for line in block["body"].split()}
    for page in sources(docs):
        if page.resolve() not in {one.resolve() for one in listed}:
            yield f"{page.relative_to(docs)}: in no table of contents"


def wide_lines(docs: Path) -> Iterator[str]:
    """Lines of code that run out of their boxes; the output of programs and generated pages count too."""
    for page in sources(docs):
        text = page.read_text(encoding="utf-8")
        for block in _FENCE.finditer(text):
            if block["language"].startswith("{"):  # a directive, not shown as it stands
                continue
            first = text.count("\n", 0, block.start("body")) + 1
            for number, line in enumerate(block["body"].splitlines(), first):
                if len(line) > WIDTH:
                    yield f"{page.relative_to(docs)}, line {number}: {len(line)} columns"


def sources(docs: Path) -> list[Path]:
    return sorted(page for page in docs.rglob("*.md") if "_build" not in page.parts)


def without_code(text: str) -> str:
    """A page without its code, where brackets are no links."""
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", text))


def main() -> None:
    docs, site = map(Path, sys.argv[1:3])
    found = [*broken_in_site(site.resolve()), *broken_on_a_forge(docs.resolve()), *wide_lines(docs)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
