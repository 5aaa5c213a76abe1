"""Nothing is too large to be read at once: files of at most 600 lines, functions of at most 50."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sorted((ROOT / "src").rglob("*.py"))
CPP = sorted(file for file in (ROOT / "native").rglob("*") if file.suffix in (".cpp", ".hpp"))
FILE, FUNCTION, PARAMETERS = 600, 50, 8


def too_long_functions(source: str) -> Iterator[tuple[str, int]]:
    """Functions of more lines than allowed; a docstring does not count, and a function within another for itself."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        inner = [n for n in ast.walk(node) if n is not node and isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        first = node.body[0]
        lines = set(range(node.lineno, (node.end_lineno or 0) + 1))
        if ast.get_docstring(node) is not None:
            lines -= set(range(first.lineno, (first.end_lineno or 0) + 1))
        for other in inner:
            lines -= set(range(other.lineno, (other.end_lineno or 0) + 1))
        if len(lines) > FUNCTION:
            yield node.name, len(lines)


def too_long_bodies(source: str) -> Iterator[tuple[int, int]]:
    """(first line, lines) of C++ functions that are too long: from a line that begins in the first column or in a class
    and opens a brace, to the line that closes it in the same column."""
    lines = source.splitlines()
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        opens = (
            line.rstrip().endswith("{") and re.match(r"\s*(namespace|class|struct|enum|union|extern)\b", line) is None
        )
        if not opens or indent > 2 or ("(" not in line and not line.lstrip().startswith(")")):
            continue
        end = next((i for i in range(number + 1, len(lines)) if lines[i].startswith(" " * indent + "}")), number)
        if end - number + 1 > FUNCTION:
            yield number + 1, end - number + 1


@pytest.mark.parametrize("file", [*PYTHON, *CPP], ids=lambda file: str(file.relative_to(ROOT)))
def test_sizes(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert source.count("\n") <= FILE
    assert list(too_long_functions(source) if file.suffix == ".py" else too_long_bodies(source)) == []


def test_long_functions_are_seen() -> None:
    body = "\n".join(f"    x = {i}" for i in range(50))
    assert list(too_long_functions(f"def f():\n{body}\n")) == [("f", 51)]
    assert list(too_long_functions(f'def f():\n    """{body}"""\n    return 1\n')) == []
    assert list(too_long_bodies("int f() {\n" + "  x();\n" * 50 + "}\n")) == [(1, 52)]
    assert list(too_long_bodies("int f() {\n" + "  x();\n" * 48 + "}\n")) == []


def test_public_functions_take_few_arguments_by_place() -> None:
    """At most eight, beside what must be named."""
    import wordferry

    found = {}
    for name in wordferry.__all__:
        code = getattr(getattr(wordferry, name), "__code__", None)
        if code is not None:
            found[name] = code.co_argcount
    assert len(found) > 5
    assert {name: count for name, count in found.items() if count > PARAMETERS} == {}
