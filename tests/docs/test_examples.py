"""The notebooks in examples/ run from the first cell to the last."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (make test brings it)")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (make test brings it)")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (make test brings it)")
pytest.importorskip("openTSNE", reason="openTSNE is not installed (pip install 'wordferry[map]')")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
_spec = importlib.util.spec_from_file_location("make_notebooks", ROOT / "tools" / "make_notebooks.py")
assert _spec is not None
assert _spec.loader is not None
make_notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_notebooks)
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_notebooks():
    assert [one.stem for one in NOTEBOOKS] == ["classify", "deduplicate", "explore"]


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_shows_what_is_stored_in_it(file, tmp_path):
    fresh, stored = make_notebooks.executed(file, tmp_path), nbformat.read(file, 4)
    shown = [output for cell in fresh.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert not any(output.output_type == "error" for output in shown)
    assert make_notebooks.differences(stored, fresh) == []  # or run: python tools/make_notebooks.py


def test_what_counts_as_the_same_output():
    assert make_notebooks.same("right: 51.9 %", "right: 51.9 %")
    assert make_notebooks.same("0.9519 of it", "0.9518 of it")
    assert not make_notebooks.same("0.95 of it", "0.90 of it")
    assert not make_notebooks.same("25 pairs", "24 pairs")
    assert not make_notebooks.same("25 pairs", "25 groups")
