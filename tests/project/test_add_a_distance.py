"""The page on adding a distance is followed to the letter, in a copy of the sources."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import PACKAGE, ROOT, blocks
from wordferry import _native

PAGE = ROOT / "docs/howto/add-a-distance.md"
BLOCKS = [block for block in blocks(PAGE.read_text(encoding="utf-8")) if block.language == "python"]
DISTANCES = Path("wordferry/compare/distances")
# An editable install finds the package before any path is looked at, so that its finder has to go first.
START = """import runpy, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
runpy.run_module("wordferry", run_name="__main__", alter_sys=True)"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with the file and the two lines of the page; what is not changed is linked."""
    folder = tmp_path_factory.mktemp("sources")
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(PACKAGE / "wordferry", folder / "wordferry", copy_function=os.symlink, ignore=ignored)
    for built in Path(str(_native.__file__)).parent.glob("_native*.so"):
        (folder / "wordferry" / built.name).symlink_to(built)
    (folder / DISTANCES / "hellinger.py").write_text(BLOCKS[0].text, encoding="utf-8")
    imported, registered = BLOCKS[2].text.strip().split("\n\n")
    face = folder / DISTANCES / "__init__.py"
    text = face.read_text(encoding="utf-8")
    assert text.count("REGISTERED: tuple[Distance, ...] = (\n") == 1
    text = text.replace("] = (\n", f"] = (\n{registered}\n", 1)
    first = "from wordferry.compare.distances.act import Act\n"
    assert first in text
    face.unlink()
    face.write_text(text.replace(first, f"{first}{imported}\n"), encoding="utf-8")
    return folder


def _run(sources: Path, folder: Path, *arguments: str) -> str:
    environment = dict(os.environ, PYTHONPATH=str(sources), NO_COLOR="1")
    command = [sys.executable, "-c", START, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_name_is_known_on_the_command_line(sources: Path, tmp_path: Path) -> None:
    a, b = "the cat sleeps", "the cat sleeps on the sofa"
    found = json.loads(_run(sources, tmp_path, "distance", a, b, "-d", "hellinger"))
    assert found["distance"] == "hellinger"
    assert found["value"] == pytest.approx(0.183503, abs=1e-6)
    assert found["title"] == "Squared Hellinger distance of the bags of words"


def test_an_index_finds_by_it_and_explains(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("the cat sleeps\nthe cat sleeps on the sofa\nstocks fell\n", encoding="utf-8")
    _run(sources, tmp_path, "index", "create", "cats", "texts.txt")
    found = _run(sources, tmp_path, "similar", "cats", "the cat sleeps", "-k", "3", "-d", "hellinger")
    hits = [json.loads(line) for line in found.splitlines()]
    assert [hit["id"] for hit in hits] == ["doc-1", "doc-2", "doc-3"]
    assert hits[0]["distance"] == pytest.approx(0, abs=1e-6)
    assert hits[2]["distance"] == pytest.approx(1, abs=1e-6)


def test_its_types_hold(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed (make test brings it)")
    file = tmp_path / "hellinger.py"
    file.write_text(BLOCKS[0].text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout


def test_its_style_is_the_house_style(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="ruff is not installed (make test brings it)")
    file = tmp_path / "hellinger.py"
    file.write_text(BLOCKS[0].text, encoding="utf-8")
    for what in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *what, "--config", str(ROOT / "pyproject.toml"), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
