"""The documentation builds without a warning, and what a reader would stumble over is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import check_docs

DOCS = ROOT / "docs"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages; a warning is an error."""
    pytest.importorskip("sphinx", reason="the docs extra is not installed")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_built_pages_lead_somewhere_and_load_nothing_from_elsewhere(site: Path) -> None:
    assert list(check_docs.broken_in_site(site)) == []
    assert len(list(site.rglob("*.html"))) > 50


@pytest.mark.slow
def test_formulas_are_drawn_without_a_script(site: Path) -> None:
    page = (site / "explanation" / "wmd.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in page
    assert 'id="MathJax-script"' not in page


def test_links_lead_somewhere_on_a_forge_and_to_every_page() -> None:
    assert list(check_docs.broken_on_a_forge(DOCS)) == []
    assert list(check_docs.outside_contents(DOCS)) == []


def test_what_is_broken_is_found(tmp_path: Path) -> None:
    docs, site = tmp_path / "docs", tmp_path / "site"
    docs.mkdir()
    site.mkdir()
    (docs / "index.md").write_text("[a](a.md) [`b`](b.md) `[x](code.md)`\n```text\n[y](code.md)\n```\n")
    (docs / "a.md").write_text(f"```python\nx = {'1' * 90}\n```\n```{{eval-rst}}\n{'y' * 90}\n```\n")
    (docs / "c.md").write_text("# Nobody links here, though [I](c.md) do\n")
    assert list(check_docs.broken_on_a_forge(docs)) == [*("index.md: leads nowhere: b.md", "c.md: no page leads here")]
    assert list(check_docs.wide_lines(docs)) == ["a.md, line 2: 94 columns"]
    (docs / "index.md").write_text("```{toctree}\n:hidden:\n\na\n```\n")
    assert list(check_docs.outside_contents(docs)) == ["c.md: in no table of contents"]
    (site / "one.html").write_text('<a href="two.html#there"></a><a href="#here"></a><script src="https://x.y/z.js">')
    (site / "two.html").write_text('<p id="there"></p><img src="no.png">')
    assert sorted(check_docs.broken_in_site(site)) == [
        *("one.html: leads nowhere: #here", "one.html: loads https://x.y/z.js", "two.html: leads nowhere: no.png")
    ]


def test_code_fits_into_its_boxes() -> None:
    assert list(check_docs.wide_lines(DOCS)) == []
