"""Write the types of the extension module, ``src/wordferry/_native.pyi``, from the module itself.

    python tools/make_native_stub.py

Run it after a change of what native/ binds; a test says when the file is not current.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src" / "wordferry" / "_native.pyi"
PATTERNS = r"""
wordferry._native.current_token:
    \from contextvars import ContextVar
    current_token: ContextVar[Token | None]
"""


def stub() -> str:
    """The stub of the module that ``import wordferry`` finds, formatted."""
    with tempfile.TemporaryDirectory() as folder:
        patterns, made = Path(folder, "patterns"), Path(folder, "_native.pyi")
        patterns.write_text(PATTERNS, encoding="utf-8")
        command = ["nanobind.stubgen", "-q", "-m", "wordferry._native", "-p", str(patterns), "-o", str(made)]
        for step in (command, ["ruff", "format", "-q", "--line-length", "120", str(made)]):
            subprocess.run([sys.executable, "-m", *step], check=True)
        return made.read_text(encoding="utf-8")


if __name__ == "__main__":
    TARGET.write_text(stub(), encoding="utf-8")
