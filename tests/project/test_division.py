"""How the tests are divided among processes: a silent change of pytest or xdist would set everything up twice."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.conftest import WAITING

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("number", range(8))
def test_the_tests_of_a_file_run_in_one_process(request: pytest.FixtureRequest, number: int) -> None:
    given = getattr(request.config, "workerinput", {})
    if "loadfile" not in given.get("mainargv", []):
        pytest.skip("files are divided by --dist loadfile alone, as make test asks for it")
    seen = Path(tempfile.gettempdir()) / f"wordferry-{given['testrunuid']}"
    with open(seen, "a+", encoding="utf-8") as notes:
        notes.write(f"{os.getpid()}\n")
        notes.seek(0)
        found = set(notes)
    if number == 7:
        seen.unlink(missing_ok=True)
    assert found == {f"{os.getpid()}\n"}


def test_files_that_wait_are_there() -> None:
    assert [name for name in sorted(WAITING) if not (ROOT / name).is_file()] == []
