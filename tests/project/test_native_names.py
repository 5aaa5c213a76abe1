"""A type of the kernels is defined in one file: two of one name in one namespace are undefined behaviour."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "native"
NOT_YET: set[str] = set()
"""Folders in which names still occur twice."""
HEAD = r"^(?:template <[^>]*>\s*)?(?:struct|class|enum class|enum)"
DEFINED = re.compile(HEAD + r"\s+(\w+)(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.MULTILINE)
"""At the start of a line: a type inside of another is indented, or has the name of that one before its own."""


def test_no_type_is_defined_in_two_files() -> None:
    files = defaultdict(set)
    for path in sorted(NATIVE.rglob("*.[ch]pp")):
        if path.parent.name not in NOT_YET:
            for name in DEFINED.findall(path.read_text(encoding="utf-8")):
                files[name].add(path.relative_to(NATIVE).as_posix())
    assert len(files) > 50
    assert {name: sorted(found) for name, found in files.items() if len(found) > 1} == {}
