"""The documentation builds without a warning, and no link inside it is broken."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.blocks import ROOT

pytest.importorskip("sphinx", reason="the docs extra is not installed")
pytestmark = pytest.mark.slow


class _Page(HTMLParser):
    """Collects a page's anchors and the addresses it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if anchor := values.get("id"):
            self.anchors.add(anchor)
        name = {"a": "href", "link": "href", "img": "src", "script": "src"}.get(tag)
        if name and (address := values.get(name)):
            self.addresses.append(address)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages; a warning is an error."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(ROOT / "docs"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return out


def test_links(site: Path) -> None:
    """Every address inside the site exists, anchors included."""
    pages: dict[Path, _Page] = {}
    for path in site.rglob("*.html"):
        pages[path] = parser = _Page()
        parser.feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, parser in pages.items():
        for address in parser.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(site)}: {address}")
    assert broken == []


def test_every_page_is_in_the_contents(site: Path) -> None:
    """A page outside every table of contents is a warning, so the build fails; this holds the check itself."""
    assert (site / "reference" / "cli.html").is_file()
    assert 'href="reference/index.html"' in (site / "index.html").read_text(encoding="utf-8")
