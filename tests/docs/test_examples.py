"""The notebooks in examples/ run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (make test brings it)")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (make test brings it)")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (make test brings it)")
pytest.importorskip("openTSNE", reason="openTSNE is not installed (pip install 'wordferry[map]')")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_notebooks():
    assert [one.stem for one in NOTEBOOKS] == ["classify", "deduplicate", "explore"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file, tmp_path):
    book = nbformat.read(file, 4)
    options = {"timeout": 280, "kernel_name": "python3", "resources": {"metadata": {"path": str(tmp_path)}}}
    nbclient.NotebookClient(book, **options).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert not any(output.output_type == "error" for output in shown)
