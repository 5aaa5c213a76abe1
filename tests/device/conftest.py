"""A device for tests: kernels in plain C++, or a GPU where one is and WORDFERRY_TEST_GPU=1 asks for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.device.emulated import Emulated, Library
from wordferry.device import launch

ON_GPU = bool(os.environ.get("WORDFERRY_TEST_GPU"))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The kernels, compiled once a session."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("no C++ compiler: the kernels cannot be compiled for the CPU")
    return Library(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The runtime that ``device="cuda"`` uses inside a test."""
    if ON_GPU:
        cuda = launch.runtime()
        if os.environ["WORDFERRY_TEST_GPU"] == "alone":  # every array in memory of its own, whose end a checker knows
            cuda.xp.cuda.set_allocator(None)
        yield cuda
        return
    emulated = Emulated(request.getfixturevalue("library"))
    with launch.using(emulated):
        yield emulated
