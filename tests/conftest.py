"""Shared fixtures. Tests that need the real data skip with a reason where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("wordferry", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("wordferry")

_BESIDE = Path(__file__).resolve().parents[2] / "shared"


def _folder(name: str) -> Path:
    override = os.environ.get("WORDFERRY_DATA")
    if override and name == "data":
        return Path(override)
    return _BESIDE / name


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real texts and vectors."""
    folder = _folder("data")
    if not (folder / "README.md").is_file():
        pytest.skip("the real data sets are not here (set WORDFERRY_DATA to their folder)")
    return folder


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of golden values."""
    folder = _folder("golden")
    if not (folder / "docs.json").is_file():
        pytest.skip("the golden values are not here")
    return folder
