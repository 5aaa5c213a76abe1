"""Sphinx configuration; ``make docs`` builds into docs/_build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import wordferry

ROOT = Path(__file__).resolve().parents[1]
project = "wordferry"
author = "The wordferry developers"
copyright = "the wordferry developers"
version = release = wordferry.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
templates_path: list[str] = []

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "fieldlist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": False}

html_theme = "furo"
html_title = "wordferry"
html_static_path = ["_static"]
html_show_sourcelink = False
html_logo = html_favicon = "_static/logo.svg"
html_css_files = ["docs.css"]
html_math_renderer = "mathml"  # drawn by the browser itself: no script, no network


def _lists(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Our short NumPy style ("name : sense", all on one line) as a list."""
    result: list[str] = []
    row = 0
    while row < len(lines):
        if row + 1 < len(lines) and lines[row].strip() and re.fullmatch(r"-{3,}", lines[row + 1].strip()):
            result += [f"**{lines[row].strip()}**", ""]
            row += 2
            while row < len(lines) and lines[row].strip():
                item = re.match(r"^([\w*., ]+?) : (.*)$", lines[row])
                result.append(f"* ``{item[1]}``: {item[2]}" if item else f"  {lines[row].strip()}")
                row += 1
            continue
        result.append(lines[row])
        row += 1
    formulas = name.startswith("wordferry.kernels.reference")
    lines[:] = [line.replace("|", "\\|") for line in result] if formulas else result


def _formula(translator: Any, node: Any) -> None:
    """A formula as MathML, by the converter that docutils carries."""
    block = isinstance(node, nodes.math_block)
    drawn = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="formula">{drawn}</div>' if block else drawn)
    raise nodes.SkipNode


def _contributing(app: Any, name: str, source: list[str]) -> None:
    """The built page on contributing is CONTRIBUTING.md; its links to files that the pages do not hold become text."""
    if name == "project/contributing":
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("](docs/", "](../")
        source[0] = re.sub(r"\[([^\]]+)\]\((?!\.\./)[^)]+\)", r"\1", text)


def setup(app: Any) -> None:
    app.connect("source-read", _contributing)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    app.connect("autodoc-process-docstring", _lists)
