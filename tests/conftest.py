"""Shared fixtures. Tests that need the real data skip with a reason where it is absent."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("wordferry", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("wordferry")

_BESIDE = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real texts and vectors."""
    folder = Path(os.environ.get("WORDFERRY_DATA") or _BESIDE / "data")
    if not (folder / "README.md").is_file():
        pytest.skip("the real data sets are not here (set WORDFERRY_DATA to their folder)")
    return folder


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden values, which is part of the repository."""
    return Path(__file__).parent / "golden"


def pytest_configure(config: pytest.Config) -> None:
    """A job in a shell's background ignores Ctrl-C and so would the processes that tests start and interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
