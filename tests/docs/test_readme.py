"""The README runs from top to bottom, in the order that a reader needs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.blocks import ROOT, blocks, run_page

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_every_block_runs(tmp_path: Path) -> None:
    found = blocks(TEXT)
    runnable = [block for block in found if block.language in {"python", "console"} and block.skip is None]
    assert [block.text for block in found if block.skip is not None] == ["$ pip install wordferry\n"]
    assert run_page(README, tmp_path) == len(runnable) >= 4
    assert all(block.shown is not None for block in runnable if block.language == "python" and "print" in block.text)


def test_order() -> None:
    assert re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL), re.MULTILINE) == [
        "wordferry",
        "On the command line",
        "How fast",
        "Install",
        "Which distance",
        "What else it does",
        "Documentation",
        "Citation",
    ]
    first = blocks(TEXT)[0]
    assert first.language == "python"
    assert len(first.text.strip().splitlines()) <= 12


def test_every_distance_is_in_the_table() -> None:
    import wordferry

    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])} == set(wordferry.DISTANCES)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (ROOT / target).exists(), target
