"""The README runs from top to bottom, in the order that a reader needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, run_page

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_every_block_runs(tmp_path: Path) -> None:
    found = blocks(TEXT)
    runnable = [block for block in found if block.language in {"python", "console"} and block.skip is None]
    assert [block.text for block in found if block.skip is not None] == [
        "$ uvx wordferry demo\n$ pip install wordferry\n"
    ]
    assert run_page(README, tmp_path) == len(runnable) >= 3
    assert all(block.shown is not None for block in runnable if block.language == "python" and "print" in block.text)


def test_order() -> None:
    assert re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL), re.MULTILINE) == [
        "wordferry",
        "Install",
        "Beside others",
        "On the command line",
        "Which distance",
        "What else it does",
        "When not to use it",
        "Where next",
        "Citation",
    ]
    first = blocks(TEXT)[0]
    assert first.language == "python"
    assert len(first.text.strip().splitlines()) <= 5
    assert TEXT.index("![") < TEXT.index("```python")


def test_every_distance_is_in_the_table() -> None:
    import wordferry

    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([^`+]+)`", row.split("|")[1])} == set(wordferry.DISTANCES)


def test_the_table_is_what_the_benchmark_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures beside other libraries are those of the last saved run of benchmarks/peers.py."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import report

    table = report.peers_table(report.runs_of(ROOT / "benchmarks/results/peers.jsonl")[-1])
    assert "\n".join(table) in TEXT, "run: make bench-report"
    assert len(table) >= 2 + 6
    page = (ROOT / "docs/reference/benchmarks.md").read_text(encoding="utf-8")
    assert "\n".join(table) in page


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (ROOT / target).exists(), target
