"""Every block of every page runs, and every command and distance is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT, blocks, matches, missing_modules, run_page

_NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def _marked(name: str) -> object:
    """The many pages of tasks are run by make check, and so are those that need packages that it alone brings."""
    needs = "<!-- needs:" in (ROOT / name).read_text(encoding="utf-8")
    return pytest.param(name, marks=pytest.mark.slow) if needs or name.startswith("docs/howto/") else name


@pytest.mark.parametrize("name", [_marked(name) for name in _NAMES])
def test_blocks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's blocks run top to bottom in an empty folder and print what the page shows."""
    if missing := missing_modules((ROOT / name).read_text(encoding="utf-8")):
        pytest.skip(f"{', '.join(missing)} not installed (make check brings it)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run_page(ROOT / name, tmp_path)


@pytest.mark.parametrize("name", _NAMES)
def test_blocks_are_marked(name: str) -> None:
    """A block that does not run says why; a block in a shell or Python dialect cannot hide behind another name."""
    for block in blocks((ROOT / name).read_text(encoding="utf-8")):
        where = f"{name}, line {block.line}"
        assert block.skip != "", f"{where}: <!-- skip: --> needs a reason"
        assert block.language not in {"py", "pycon", "python3", "bash", "sh", "shell", ""}, (
            f"{where}: name the block python (runs), console ($ lines run), text, or the language of its data"
        )


def test_every_distance_is_explained() -> None:
    """A page of its own, or a line in the page of the baselines; and a line in the table that helps to choose."""
    from wordferry import DISTANCES

    explained = {page.stem for page in PAGES if page.parent.name == "explanation"}
    folder = ROOT / "docs/explanation"
    baselines = (folder / "baselines.md").read_text(encoding="utf-8")
    choice = (folder / "index.md").read_text(encoding="utf-8")
    assert [name for name in DISTANCES if name not in explained and f"`{name}`" not in baselines] == []
    assert [name for name in DISTANCES if f"`{name}`" not in choice] == []


def test_every_public_name_is_in_the_reference() -> None:
    import wordferry

    text = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    names = [name for name in wordferry.__all__ if not name.startswith("_")]
    assert [name for name in names if f":: wordferry.{name}\n" not in text] == []


def test_every_setting_of_the_environment_is_documented() -> None:
    found = set()
    for file in (ROOT / "src").rglob("*.py"):
        found |= set(re.findall(r"WORDFERRY_[A-Z_]+", file.read_text(encoding="utf-8")))
    text = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8")
    assert sorted(name for name in found if f"`{name}`" not in text) == []


def test_block_parser() -> None:
    page = "```python\nprint(1)\n```\n\n```text\n1\n```\n<!-- skip: why -->\n```python\nx\n```\n"
    page += "word\n```console\n$ a\n```\n"
    found = blocks(page)
    assert [(b.language, b.skip, b.shown) for b in found] == [
        ("python", None, "1\n"),
        ("python", "why", None),
        ("console", None, None),
    ]


def test_needed_packages() -> None:
    assert missing_modules("<!-- needs: numpy, no_such_package -->\n") == ["no_such_package"]
    assert missing_modules("```python\nimport no_such_package\n```\n") == []


def test_output_comparison() -> None:
    assert matches("a ... c\n", "a b c\n")
    assert matches("a  \nb\n", "a\nb\n\n")
    assert not matches("0.12\n", "0.13\n")
    assert not matches("a\n", "a\nb\n")
