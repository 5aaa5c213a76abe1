"""Only a distance's own file knows its name: nowhere else is a name compared, looked up or dispatched on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wordferry

PACKAGE = Path(wordferry.__file__).parent
OWN = PACKAGE / "compare" / "distances"
REPORTS = PACKAGE / "reproduce"
"""The papers' tables are keyed by name; they decide what is reported, not what is computed."""


def strings(node: ast.AST) -> set[str]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def decided_by_name(tree: ast.AST, names: set[str]) -> Iterator[int]:
    """Lines that compare with a name, look one up, match on one, or hold a table of functions by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.MatchValue):
            found = strings(node)
        elif isinstance(node, ast.Subscript):
            found = strings(node.slice)
        elif isinstance(node, ast.Dict):
            found = {name for key in node.keys if key is not None for name in strings(key)}
        else:
            continue
        if found & names:
            yield node.lineno


def test_no_name_of_a_distance_decides_anything_elsewhere() -> None:
    names = set(wordferry.DISTANCES)
    wrong = [
        f"{file.relative_to(PACKAGE)}:{line}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if OWN not in file.parents and REPORTS not in file.parents
        for line in decided_by_name(ast.parse(file.read_text(encoding="utf-8")), names)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "code",
    [
        'if record.name == "wmd": pass',
        'if name in ("cosine", "wcd"): pass',
        'match name:\n    case "rel-rwmd": pass',
        'methods = {"wmd": solve}',
        'record = DISTANCES["rwmd"]',
    ],
)
def test_what_counts_as_deciding(code: str) -> None:
    assert list(decided_by_name(ast.parse(code), set(wordferry.DISTANCES)))


def test_a_default_does_not() -> None:
    assert not list(decided_by_name(ast.parse('def f(distance="wmd"): return g(distance, "rwmd")'), {"wmd", "rwmd"}))
