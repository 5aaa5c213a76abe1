"""Run the notebooks in examples/ and store what they show: ``python tools/make_notebooks.py [--check] [NAME ...]``.

A notebook is edited where it stands; this runs it from the first cell to the last in an empty folder and writes its
outputs into it. With ``--check`` nothing is written: it says which stored outputs are no longer what the cells show,
and fails. Cells tagged ``varies`` are run but not compared: what they show depends on the machine.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CLOSE = 2e-3
"""Numbers may differ by this much of their size: the last digit that is shown, on another processor."""


def executed(path: Path, folder: Path) -> Any:
    """The notebook with the outputs that its cells show now."""
    import nbclient
    import nbformat

    import wordferry

    package = str(Path(wordferry.__file__).parents[1])  # the one that runs here, installed or in the sources
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])}
    book = nbformat.read(path, 4)
    options: dict[str, Any] = {
        "timeout": 280,
        "kernel_name": "python3",
        "resources": {"metadata": {"path": str(folder)}},
    }
    nbclient.NotebookClient(book, **options).execute(env=environment)
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # when it was run
    book.metadata.pop("language_info", None)  # which version of Python ran it
    return book


def differences(stored: Any, fresh: Any) -> list[str]:
    """Cells whose stored output is not what they show now, each in a line."""
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if old.cell_type != "code" or "varies" in old.metadata.get("tags", ()):
            continue
        before, now = texts(old), texts(new)
        if not same(before, now):
            found.append(f"cell {number}: stored {before[:200]!r}, now {now[:200]!r}")
    return found


def texts(cell: Any) -> str:
    """What a cell shows, as plain text."""
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "") or output.get("ename", "")
        for output in cell.get("outputs", ())
    ).strip()


def same(before: str, now: str) -> bool:
    """Whether two outputs say the same: equal words, and numbers that differ in the last digit shown at most."""
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", now):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(now), strict=True)
    return all(
        a == b or ("." in a and math.isclose(float(a), float(b), rel_tol=_CLOSE, abs_tol=_CLOSE)) for a, b in pairs
    )


def main() -> int:
    """Run what is asked for; 1 when a check fails."""
    import nbformat

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="Notebooks by name, e.g. explore (default: all).")
    parser.add_argument("--check", action="store_true", help="Write nothing; fail where a stored output is not true.")
    arguments = parser.parse_args()
    wrong = 0
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        if arguments.names and path.stem not in arguments.names:
            continue
        stored = nbformat.read(path, 4)
        with tempfile.TemporaryDirectory() as folder:
            fresh = executed(path, Path(folder))
        changed = differences(stored, fresh)
        print(f"{path.name}: {len(changed)} outputs changed", *changed, sep="\n  ")
        wrong += len(changed)
        if not arguments.check:
            nbformat.write(fresh, path)
    return 1 if arguments.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
