"""What type checkers say of results: one query gives hits, several give lists of them, and nothing is Any."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAID = {
    'index.search("a")': "Hits",
    'index.search(("a", "b"), 3, explain=True, lift=0.0)': "Hits",
    'index.search(["a", "b"])': "list[Hits]",
    'index.similar("a", distance="wmd")': "Hits",
    'index.similar(id="a")': "Hits",
    'index.similar(["a"], 2)': "list[Hits]",
    'index.search("a")[0]': "Hit",
    'index.search("a")[0].explain()': "Explanation | ScoreExplanation | None",
    'index.search("a")[0].explain("sentence")': "SentenceExplanation | None",
    'index.search("a")[0].passages()': "list[Passage]",
    'index.explain("a", "b")': "Explanation",
    'index.explain("a", "b", by="sentence")': "SentenceExplanation",
    "index.duplicates(0.3)": "Duplicates",
    "index.topics()": "Rows",
    "index.map()": "Map",
    'wordferry.distance("a", "b")': "float",
    'wordferry.explain("a", "b", "wmd", side="left")': "Explanation",
    'wordferry.explain("a", "b", by="sentence")': "SentenceExplanation",
    'wordferry.duplicates(["a"], 0.3)': "Duplicates",
}


def test_results_have_their_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "use.py"
    lines = ["import wordferry", "index = wordferry.Index.create()", *(f"reveal_type({call})" for call in SAID)]
    file.write_text("\n".join([*lines, 'index.search("a", filtre={})', 'index.similar("a", distance=3)']) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(file)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280).stdout
    told = re.findall(r'use\.py:(\d+): note: Revealed type is "(.*)"', found)
    types = {int(line): re.sub(r"(?:\w+\.)+(?=\w)", "", said) for line, said in told}
    assert {call: types.get(number) for number, call in enumerate(SAID, start=3)} == SAID, found
    wrong = [int(line) for line in re.findall(r"use\.py:(\d+): error", found)]
    assert sorted(set(wrong)) == [len(lines) + 1, len(lines) + 2], found
