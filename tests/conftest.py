"""Shared fixtures, and how tests are divided among processes. Tests that need the real data skip with a reason where
it is absent."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("wordferry", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("wordferry")

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 3 << 30
"""Free bytes that a file system in memory must have for the tests to use it; they need less than 1 GB."""
WAITING = {
    "tests/engines/test_failures.py",
    "tests/engines/test_ray.py",
    "tests/maps/test_map_page.py",
    "tests/shards/test_serving.py",
    "tests/web/test_connections.py",
    "tests/web/test_large_answers.py",
    "tests/web/test_load.py",
    "tests/web/test_map.py",
    "tests/web/test_page.py",
}
"""Files whose tests start clusters, servers and browsers, and spend most of their time waiting for them."""


def pytest_configure(config: pytest.Config) -> None:
    # A job in a shell's background ignores Ctrl-C, and so would the processes that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # In memory fsync costs nothing; tests marked "disk" are given folders on the disk.
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests wait come first, so that there is enough left to compute beside them."""
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in WAITING)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected stays until the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By ``--dist loadfile`` the tests of a file run in one process, so that what a module sets up is set up once.

    Those of all files that wait run in one as well, so that the other processes compute meanwhile.
    """
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling  # not at the top: tests run without it too

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "waiting" if file in WAITING else file

    return ByFile(config, log)


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
