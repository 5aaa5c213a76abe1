"""The table of docs/explanation/architecture.md is what the sources do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "wordferry"
ROOMS = {"base", "kernels", "words", "texts", "compare", "explanations", "judge"}
UNITS = {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file()} - ROOMS - {"data"}


def table() -> dict[str, tuple[int, set[str]]]:
    rows = {}
    for line in (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and cells[0].isdigit():
            assert cells[1].strip("`") not in rows, f"{cells[1]} has two rows"
            rows[cells[1].strip("`")] = int(cells[0]), set(re.findall(r"`([^`]+)`", cells[3]))
    return rows


def unit(parts: list[str]) -> str:
    """The row that a module belongs to: a module of a room has its own, any other package is one row."""
    return parts[0] if parts[0] in UNITS else "/".join(parts[:2])


def imported(file: Path) -> set[str]:
    """Rows whose modules the file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    found = set()
    for name in names:
        parts = name.split(".")
        while parts[0] == "wordferry" and len(parts) > 1:
            base = PACKAGE.joinpath(*parts[1:])
            if base.with_suffix(".py").is_file() or (base / "__init__.py").is_file():
                found.add(unit(parts[1:]))
                break
            parts.pop()
    return found - {"data"}


def modules() -> dict[str, set[str]]:
    rows: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        parts = list(file.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] in ("__init__", "__main__") and (len(parts) == 1 or (len(parts) == 2 and parts[0] in ROOMS)):
            continue
        if parts[0] == "data":
            continue
        rows.setdefault(unit(parts), set()).update(imported(file))
    return rows


def test_every_module_has_a_row_and_every_row_a_module() -> None:
    assert sorted(modules()) == sorted(table())


def test_imports_go_down() -> None:
    rows = table()
    wrong = [
        f"{name} (floor {rows[name][0]}) imports {other} (floor {rows[other][0]})"
        for name, others in modules().items()
        for other in others - {name}
        if rows[other][0] > rows[name][0] or (rows[other][0] == rows[name][0] and other not in rows[name][1])
    ]
    assert wrong == []


def test_the_table_names_no_import_that_is_not_there() -> None:
    found = modules()
    assert [(name, other) for name, (_, own) in table().items() for other in own if other not in found[name]] == []


def test_the_reference_imports_nothing_of_ours() -> None:
    assert modules()["kernels/reference"] == set()
