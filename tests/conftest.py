"""Shared fixtures, and how tests are divided among processes. Tests that need the real data skip with a reason where
it is absent."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("wordferry", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("wordferry")

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 3 << 30
"""Free bytes that a file system in memory must have for the tests to use it; they need less than 1 GB."""


def pytest_configure(config: pytest.Config) -> None:
    # A job in a shell's background ignores Ctrl-C, and so would the processes that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # In memory fsync costs nothing; tests marked "disk" are given folders on the disk.
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes the tests of a file run in one of them, so that what a module sets up is set up once.

    Files of one ``xdist_group`` share a process; these groups, which start servers and clusters and wait for them, come
    first, because a long group at the end would leave the other processes idle.
    """
    if not hasattr(config, "workerinput"):
        return
    named = [item for item in items if item.get_closest_marker("xdist_group")]
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem.removeprefix("test_")))
    first = {id(item) for item in named}
    items.sort(key=lambda item: id(item) not in first)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Show the names of tests without the group that xdist appends, so that they can be given to pytest again."""
    name, at, group = report.nodeid.rpartition("@")
    if at and "]" not in group:
        report.nodeid = name


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own; on the disk if the test is marked so."""
    if request.node.get_closest_marker("disk") is None:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="wordferry-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Neither the user's cache nor that of another test process is used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDFERRY_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


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
