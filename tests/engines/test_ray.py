"""The same jobs on a real Ray cluster of processes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from importlib.util import find_spec

import pytest

from tests.engines.collection import write
from tests.engines.test_jobs import contents
from wordferry.errors import FormatError
from wordferry.shards import Choices, jobs

if find_spec("ray") is None:  # not imported here: what is set before its import is part of the test
    pytest.skip("Ray is not installed (pip install 'wordferry[cluster]')", allow_module_level=True)
pytest.importorskip("pyarrow", reason="pyarrow is not installed (pip install 'wordferry[cluster]')")


@pytest.fixture(scope="module")
def ray_engine():
    from wordferry.engines.on_ray import Ray

    engine = Ray(workers=2, store=200 << 20)
    yield engine
    engine.close()


def test_ray_gives_the_bytes_of_one_process_and_fetches_once(ray_engine, tmp_path):
    source = str(write(tmp_path / "in"))
    jobs.knn_graph(source, str(tmp_path / "a"), 4, Choices(block=30))
    summary = jobs.knn_graph(source, str(tmp_path / "b"), 4, Choices(block=30), engine=ray_engine)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert summary.engine.startswith("Ray, 2 workers")
    assert set(ray_engine.fetched.values()) == {1}


def test_errors_of_a_task_come_back_as_they_are(ray_engine, tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": "a cat"}\n{"text": 5}\n')
    with pytest.raises(FormatError, match="row 2"):
        jobs.knn_graph(str(tmp_path / "docs.jsonl"), str(tmp_path / "out"), 1, engine=ray_engine)


def answer(server, said, held=None):
    """Say the same to everybody who connects, and hang up; or keep them in ``held``, and say nothing more."""
    with contextlib.suppress(OSError):
        while True:
            connection = server.accept()[0]
            connection.sendall(said)
            if held is None:
                connection.close()
            else:
                held.append(connection)


SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
PING = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + bytes(8)
WAYS = ["nobody", "silence", "another", "settings", "client", "client of another", "client of settings"]


@pytest.mark.parametrize("what", WAYS)
def test_an_address_without_a_cluster_is_one_line(what):
    """At once where nobody listens or something else answers; after a few seconds where nothing does."""
    held = [] if "settings" in what else None  # one who begins as Ray does, and is silent then
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if what in ("nobody", "client"):
            server.close()
        if "another" in what or "settings" in what:  # an older server, and one that speaks HTTP/2 as Ray does
            said = b"HTTP/1.1 400 Bad Request\r\n\r\n" if what == "another" else SETTINGS + PING
            threading.Thread(target=answer, args=(server, said, held), daemon=True).start()
        line = [sys.executable, "-m", "wordferry", "cluster", "knn-graph", "docs.jsonl", "-o", "out", "--address"]
        found = subprocess.run(
            [*line, f"ray://{address}" if "client" in what else address], capture_output=True, text=True, timeout=120
        )
    for connection in held or ():
        connection.close()
    assert found.returncode == 2
    assert len(found.stderr.splitlines()) == 1
    assert f"no Ray cluster at {'ray://' if 'client' in what else ''}{address}" in found.stderr


def test_all_cores_of_a_cluster_work_by_default(ray_engine):
    from wordferry.cli.cluster import running

    with running(workers=None, address="local") as run:
        assert run["engine"].workers == 2


def test_a_cluster_that_is_started_here_listens_on_loopback_only(ray_engine):
    psutil = pytest.importorskip("psutil")
    listening = [
        connection.laddr.ip
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) > 3
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_shards_built_and_searched_on_ray_are_those_of_one_process(ray_engine, tmp_path):
    from wordferry.index import Index
    from wordferry.shards import build

    source = str(write(tmp_path / "in"))
    build(source, tmp_path / "one", 2)
    build(source, tmp_path / "two", 2, engine=ray_engine)
    with Index.open(str(tmp_path / "one")) as a, Index.open(str(tmp_path / "two")) as b:
        assert [(hit.id, hit.score) for hit in a.search("bread")] == [(hit.id, hit.score) for hit in b.search("bread")]
    jobs.search(str(tmp_path / "one"), source, tmp_path / "a", 3, Choices(block=40))
    jobs.search(str(tmp_path / "two"), source, tmp_path / "b", 3, Choices(block=40), engine=ray_engine)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
