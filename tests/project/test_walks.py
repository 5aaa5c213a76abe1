"""The walks in the architecture page: every step is there in the code, and no walk is longer than it may be."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
MOST = {
    "One search from the command line": 25,
    "One `pairwise`": 12,
    "One `top_k` by wmd": 18,
    "One search over HTTP": 12,
}


def steps(title: str) -> list[str]:
    part = PAGE.partition(f"### {title}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    return re.findall(r"^\d+\. (.*)$", part, re.M)


def defined(module: str) -> set[str]:
    """Functions, classes and methods of a module."""
    tree = ast.parse((ROOT / "src" / "wordferry" / f"{module}.py").read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found = {node.name for node in tree.body if isinstance(node, kinds)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            found |= {f"{owner.name}.{node.name}" for node in owner.body if isinstance(node, kinds)}
    return found


@pytest.mark.parametrize(("title", "most"), MOST.items())
def test_walks_are_short_and_true(title: str, most: int) -> None:
    found = steps(title)
    assert 5 < len(found) <= most
    for step in found:
        names = re.findall(r"`([\w/]+):([\w.]+)`", step)
        assert names, step
        for module, name in names:
            assert name in defined(module), f"{module} has no {name}"


def test_what_readers_look_for_is_there() -> None:
    rows = PAGE.partition("| you look for |")[2].partition("\n\n")[0]
    names = re.findall(r"`([\w/]+):([\w.]+)`", rows)
    assert len(names) > 10
    for module, name in names:
        assert name in defined(module), f"{module} has no {name}"
