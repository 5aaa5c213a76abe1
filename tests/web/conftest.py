"""A real index of the sample, the application over it, and real server processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")
import httpx

import wordferry

PACKAGE = Path(wordferry.__file__).resolve().parents[1]
"""Where the package under test lies, installed or not."""
DOCUMENTS = len(wordferry.sample().articles) + 1
"""How many the index of the fixtures holds: the sample and one more."""
SCRIPT = "<script>document.title='stolen'</script> volunteers repair software <img src=x onerror=alert(1)>"
QUERY = "Volunteers repair abandoned software"
WRITER = {"authorization": "Bearer writer"}


def post(client: Any, path: str, body: Any, status: int = 200, **options: Any) -> Any:
    answer = client.post(path, json=body, **options)
    assert answer.status_code == status, answer.text[:500]
    return answer.json()


@pytest.fixture(scope="session")
def built_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the sample articles and of one document that would like to be HTML; not to be changed."""
    path = tmp_path_factory.mktemp("web") / "sample"
    with wordferry.Index.create(path) as index:
        index.add(wordferry.sample().articles)
        index.add([{"id": "script/<b>", "text": SCRIPT, "title": "<i>title</i>"}])
    return path


@pytest.fixture
def own_index(built_index: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(built_index, tmp_path / "index"))


@pytest.fixture(scope="session")
def reader(built_index: Path) -> Iterator[Any]:
    """A client of a read-only application."""
    with open_client(built_index) as client:
        yield client


@contextmanager
def open_client(path: Path, **settings: Any) -> Iterator[Any]:
    """A client of an application in this process."""
    from fastapi.testclient import TestClient

    from wordferry.web.app import create_app
    from wordferry.web.settings import Settings

    with (
        wordferry.Index.open(path) as index,
        TestClient(
            create_app(index, Settings(**settings)), "http://127.0.0.1", raise_server_exceptions=False
        ) as client,
    ):
        yield client


LIMITED = """
import json, sys, wordferry
from wordferry.web.server import run
from wordferry.web.settings import Limits, Settings
with wordferry.Index.open(sys.argv[1]) as index:
    run(index, Settings(port=int(sys.argv[2]), limits=Limits(**json.loads(sys.argv[3]))), quiet=True)
"""
"""A service with limits that the command line has no option for."""


@contextmanager
def serving(
    path: Path, *options: str, limits: dict[str, float] | None = None, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server process on a free port, ready to answer; its address and itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "wordferry", "serve", str(path), "--port", str(port), *options]
    if limits is not None:
        command = [sys.executable, "-c", LIMITED, str(path), str(port), json.dumps(limits)]
    source = {"PYTHONPATH": str(PACKAGE), **environment}
    with open(path.parent / f"{path.name}.log", "a+", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=os.environ | source, stderr=log, text=True)
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                if process.poll() is not None:
                    log.seek(0)
                    pytest.fail(f"the server ended with {process.returncode}: {log.read()[-2000:]}")
                try:
                    httpx.get(f"{address}/healthz", timeout=2)
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield address, process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@pytest.fixture
def start_server() -> Callable[..., Any]:
    return serving


def stored(client: Any) -> int:
    """The documents that the service knows of; what takes longer than a moment is said when asked again."""
    for _ in range(200):
        if (documents := client.get("/api/stats").json()["documents"]) is not None:
            return int(documents)
        time.sleep(0.05)
    raise AssertionError("the service never came to know its index")


async def submit(batcher: Any, key: str, item: int) -> Any:
    """The result of one item."""
    (result,) = await batcher.submit(key, [item], lambda result: None)
    return result
