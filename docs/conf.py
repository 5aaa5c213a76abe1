"""Sphinx configuration; ``make docs`` builds into docs/_build."""

from __future__ import annotations

import wordferry

project = "wordferry"
author = "The wordferry developers"
copyright = "the wordferry developers"
version = release = wordferry.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
templates_path: list[str] = []

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "fieldlist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
# MathJax is the one thing a built page would fetch; formulas stay readable as LaTeX without it.

html_theme = "furo"
html_title = "wordferry"
html_static_path = ["_static"]
html_show_sourcelink = False
