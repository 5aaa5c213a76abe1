"""Finds the fenced blocks of a Markdown page and runs them.

``python`` blocks of a page share one namespace; a ``text`` block right after one is what it must print (``...`` stands
for anything). In a ``console`` block the lines after ``$`` run in a shell, and what follows a line is its output.
``<!-- skip: reason -->`` before a block keeps it from running; ``<!-- needs: module, module -->`` in a page says which
packages beyond the usual ones its blocks import.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import wordferry

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)

PACKAGE = Path(wordferry.__file__).resolve().parents[1]

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|:{3,})(?P<info>.*)$")
_SKIP = re.compile(r"<!--\s*skip:(?P<reason>.*?)-->")


_NEEDS = re.compile(r"<!--\s*needs:(?P<modules>.*?)-->")


def missing_modules(text: str) -> list[str]:
    """The packages that a page says its blocks need and that are not installed."""
    named = [name.strip() for found in _NEEDS.finditer(text) for name in found["modules"].split(",")]
    return [name for name in named if importlib.util.find_spec(name) is None]


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, text, first line number, the reason to skip it, and the output shown after it."""

    language: str
    text: str
    line: int
    skip: str | None = None
    shown: str | None = None


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, in order. A ``text`` block right after a ``python`` block is its output."""
    found: list[Block] = []
    lines = text.splitlines()
    skip: str | None = None
    row = 0
    adjacent = False  # only blank lines since the last block
    while row < len(lines):
        match = _FENCE.match(lines[row])
        if not match:
            if comment := _SKIP.search(lines[row]):
                skip = comment["reason"].strip()
            elif lines[row].strip():
                skip, adjacent = None, False
            row += 1
            continue
        end = row + 1
        closing = match["indent"] + match["fence"]
        while end < len(lines) and lines[end].rstrip() != closing:
            end += 1
        body = "\n".join(line.removeprefix(match["indent"]) for line in lines[row + 1 : end]) + "\n"
        language = re.sub(r"^\{code-block\}\s*", "", match["info"].strip())
        if language == "text" and adjacent and found and found[-1].language == "python" and found[-1].shown is None:
            last = found.pop()
            found.append(Block(last.language, last.text, last.line, last.skip, body))
        else:
            found.append(Block(language, body, row + 1, skip))
        skip, adjacent, row = None, True, end + 1
    return found


def matches(shown: str, got: str) -> bool:
    """Whether output is what the page shows; ``...`` stands for anything, spaces at line ends do not count."""
    pattern = ".*?".join(re.escape(part) for part in _trimmed(shown).split("..."))
    return re.fullmatch(pattern, _trimmed(got), re.DOTALL) is not None


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def run_page(path: Path, folder: Path) -> int:
    """Run a page's python and console blocks top to bottom; the number of blocks run."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language not in {"python", "console"} or block.skip is not None:
            continue
        where = f"{path.relative_to(ROOT)}, line {block.line}"
        if block.language == "python":
            _run_python(block, namespace, where)
        else:
            _run_console(block, folder, where)
        ran += 1
    return ran


def _run_python(block: Block, namespace: dict[str, object], where: str) -> None:
    output = io.StringIO()
    code = compile("\n" * block.line + block.text, where, "exec")  # so that a traceback shows the page's line
    with contextlib.redirect_stdout(output):
        exec(code, namespace)
    got = output.getvalue()
    if block.shown is not None:
        assert matches(block.shown, got), f"{where}: the page shows\n{block.shown}\nbut the block prints\n{got}"


def _run_console(block: Block, folder: Path, where: str) -> None:
    """Run the ``$`` lines; what follows a line, if anything, is its output."""
    environment = dict(os.environ, PATH=f"{_shim(folder)}:{os.environ['PATH']}", COLUMNS="120", NO_COLOR="1")
    for command in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = command.partition("\n")
        while line.endswith("\\"):
            more, _, shown = shown.partition("\n")
            line = line[:-1] + more.removeprefix("> ")
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{where}: $ {line}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
        if shown.strip():
            assert matches(shown, done.stdout), f"{where}: $ {line}\nthe page shows\n{shown}\nbut got\n{done.stdout}"


def _shim(folder: Path) -> Path:
    """A folder with commands ``wordferry`` and ``python`` that use the package under test, installed or not."""
    place = folder / ".bin"
    place.mkdir(exist_ok=True)
    for name, arguments in (("wordferry", "-m wordferry "), ("python", "")):
        script = place / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{PACKAGE}" exec "{sys.executable}" {arguments}"$@"\n')
        script.chmod(0o755)
    return place
