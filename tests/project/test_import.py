"""Importing the package and asking for help load nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "numpy", "scipy", "sklearn", "pyarrow", "matplotlib", "torch", "ray", "fastapi", "uvicorn", "orjson", "gensim",
    "ot", "faiss", "safetensors", "model2vec", "spacy", "threadpoolctl", "pandas", "multiprocessing", "asyncio",
    "sqlite3", "wordferry._native",
}  # fmt: skip
LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.__stderr__)"


def loaded(statement: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"{statement}\n{LOADED}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_the_package() -> None:
    names = loaded("import wordferry; wordferry.__version__; dir(wordferry)")
    assert not names & HEAVY
    assert {name for name in names if name.startswith("wordferry")} == {"wordferry"}


HELP = """
from wordferry.cli import main
try:
    main({arguments})
except SystemExit as stop:
    assert not stop.code
"""


@pytest.mark.parametrize("arguments", [["--help"], ["embeddings", "--help"], ["embeddings", "convert", "--help"]])
def test_asking_for_help(arguments: list[str]) -> None:
    assert not loaded(HELP.format(arguments=arguments)) & HEAVY


def test_every_public_name_is_there_and_typed() -> None:
    import ast
    from pathlib import Path

    import wordferry

    for name in wordferry.__all__:
        assert getattr(wordferry, name) is not None
    tree = ast.parse(Path(wordferry.__file__).read_text(encoding="utf-8"))
    seen = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(wordferry.__all__) - {"__version__"} <= seen  # type checkers see what is loaded late
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wordferry.nothing  # noqa: B018
