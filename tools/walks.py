"""Print which functions of ours a job enters, in order and with their depth: python tools/walks.py [JOB ...]

The jobs are those of "Four walks" in docs/explanation/architecture.md: search, pairwise, top-k and http. Each runs once
before, so that what is made once and kept is not shown. Private helpers, properties and dunder methods are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import wordferry

OURS = str(Path(wordferry.__file__).parent) + "/"
QUERY = "volunteers repair old software"


def entered(work: Callable[[], object]) -> list[tuple[int, str]]:
    """(depth, function) in the order of first entry, in all threads."""
    found: dict[str, int] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(OURS):
            return
        owner = frame.f_locals.get("self")
        leaf = code.co_qualname.rpartition(".")[2]
        kept = isinstance(getattr(type(owner), leaf, None), property) if owner is not None else False
        if kept or leaf.startswith(("_", "<")):
            return
        depth, outer = 0, frame.f_back
        while outer is not None:
            depth += outer.f_code.co_filename.startswith(OURS)
            outer = outer.f_back
        found.setdefault(f"{code.co_filename[len(OURS) : -3]}  {code.co_qualname}", depth)

    threading.setprofile_all_threads(note) if sys.version_info >= (3, 12) else threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [(depth, name) for name, depth in found.items()]


def jobs(folder: Path) -> dict[str, Callable[[], object]]:
    """What is walked through."""
    texts = wordferry.sample().texts[:200]
    with wordferry.Index.create(folder) as index:
        index.add([{"text": text} for text in texts])

    def search() -> None:
        from wordferry.cli import main

        sys.argv = ["wordferry", "search", str(folder), QUERY, "-k", "2"]
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            main()

    def http() -> None:
        from fastapi.testclient import TestClient

        from wordferry.web.app import create_app
        from wordferry.web.settings import Settings

        with (
            wordferry.Index.open(folder) as opened,
            TestClient(create_app(opened, Settings()), "http://127.0.0.1") as client,
        ):
            client.post("/api/search", json={"texts": [QUERY], "k": 2})

    return {
        "search": search,
        "pairwise": lambda: wordferry.pairwise(texts[:50], texts),
        "top-k": lambda: wordferry.top_k([QUERY], texts, 5, "wmd"),
        "http": http,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*")
    wanted = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as name:
        for job, work in jobs(Path(name) / "index").items():
            if not wanted or job in wanted:
                work()
                print(f"\n{job}")
                for depth, function in entered(work):
                    print("  " * depth + function)


if __name__ == "__main__":
    main()
