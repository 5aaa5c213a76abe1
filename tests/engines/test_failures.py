"""Real clusters of node processes: the same bytes from any number of them, and after kill -9 of any part of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

import wordferry
from tests.engines.test_jobs import contents
from wordferry.shards import Choices, jobs

if find_spec("ray") is None:
    pytest.skip("Ray is not installed (pip install 'wordferry[cluster]')", allow_module_level=True)
psutil = pytest.importorskip("psutil")
pytestmark = pytest.mark.disk
STORE = 80 << 20
SMALL = 160


def write(folder: Path, count: int) -> str:
    """So many documents of about 20 words, the same every time."""
    folder.mkdir(parents=True)
    words = [text.split() for text in wordferry.sample().texts]
    with (folder / "docs.jsonl").open("w") as stream:
        for number in range(count):
            some = words[number % len(words)]
            start = 7 * (number // len(words)) % max(1, len(some) - 20)
            other = words[(number * 31 + number // len(words)) % len(words)]
            text = " ".join([*some[start : start + 14], *other[:6]])
            stream.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    return str(folder)


class Nodes:
    """A head and some more nodes, each with a raylet and a worker of its own, on the loopback address."""

    def __init__(self) -> None:
        from wordferry.engines.on_ray import prepare_environment

        prepare_environment()
        from ray.cluster_utils import Cluster

        self.own = {"num_cpus": 1, "object_store_memory": STORE, "node_ip_address": "127.0.0.1"}
        self.cluster = Cluster(initialize_head=True, head_node_args={**self.own, "include_dashboard": False})
        self.more: list = []
        self.head = self.cluster.head_node

    def grow(self, count: int) -> None:
        while len(self.more) + 1 < count:
            self.more.append(self.cluster.add_node(**self.own))

    def engine(self):
        from wordferry.engines.on_ray import Ray

        return Ray(self.cluster.address)

    def kill_node(self) -> None:
        """Kill -9 of the raylet of a node; its workers die with it."""
        node = self.more.pop()
        os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)

    def close(self) -> None:
        import ray

        if ray.is_initialized():
            ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def nodes():
    made = Nodes()
    yield made
    made.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures")
    source = write(folder / "in", SMALL)
    jobs.knn_graph(source, str(folder / "one"), 4, Choices(block=5), shards=4)
    return source, contents(folder / "one")


def lines(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def kill_when(journal: Path, least: int, kill) -> threading.Thread:
    """Kill something once so many tasks are done."""

    def watch() -> None:
        limit = time.monotonic() + 3000
        while lines(journal) < least and time.monotonic() < limit:
            time.sleep(0.01)
        kill()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def a_worker() -> None:
    """Kill -9 of a worker of this test's own nodes that is at work."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::_perform"):
                    process.kill()
                    return
        time.sleep(0.005)
    raise AssertionError("no worker was at work")


@pytest.mark.parametrize("count", [1, 3])
def test_the_number_of_nodes_does_not_show_and_each_gets_the_shared_data_once(nodes, small, tmp_path, count):
    source, expected = small
    nodes.grow(count)
    engine = nodes.engine()
    try:
        jobs.knn_graph(source, str(tmp_path / "out"), 4, Choices(block=5), shards=4, engine=engine)
    finally:
        engine.close()
    assert contents(tmp_path / "out") == expected
    assert set(engine.fetched.values()) == {1}
    used = {where.split("/")[0] for where in engine.fetched}
    assert len(used) == count


@pytest.mark.parametrize("what", ["worker", "node"])
def test_kill_a_worker_or_a_node(nodes, small, tmp_path, what):
    source, expected = small
    nodes.grow(3)
    engine = nodes.engine()
    try:
        journal = tmp_path / "out.job" / "done.jsonl"
        thread = kill_when(journal, 40, a_worker if what == "worker" else nodes.kill_node)
        summary = jobs.knn_graph(source, str(tmp_path / "out"), 4, Choices(block=5), shards=4, engine=engine)
        thread.join()
    finally:
        engine.close()
    assert contents(tmp_path / "out") == expected
    assert summary.repeated <= summary.tasks / 10


def run_twice(line: list[str], journal: Path, least: int) -> dict:
    """Start a job, kill -9 its driver once so many tasks are done, and start it again."""
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 3000
    while lines(journal) < least:
        assert process.poll() is None, "the job was done before it could be killed"
        assert time.monotonic() < limit
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_kill_the_driver(nodes, small, tmp_path):
    source, expected = small
    nodes.grow(2)
    line = [sys.executable, "-m", "wordferry", "cluster", "knn-graph", source, "-k", "4", "--block", "5", "--json"]
    line += ["--shards", "4"]
    line += ["-o", str(tmp_path / "out"), "--address", nodes.cluster.address, "--workers", "2"]
    found = run_twice(line, tmp_path / "out.job" / "done.jsonl", 40)
    assert contents(tmp_path / "out") == expected
    assert found["resumed"] >= 40
    assert found["repeated"] <= found["tasks"] / 10


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_documents_survive_all_three(nodes, tmp_path):
    """A worker, a node and the driver are killed during one k-NN graph of 100,000 documents."""
    count = int(os.environ.get("WORDFERRY_FAILURE_DOCUMENTS", "100000"))
    source = write(tmp_path / "in", count)
    choices = Choices(block=max(5, count // 200))
    started = time.monotonic()
    jobs.knn_graph(source, str(tmp_path / "one"), 10, choices, shards=8)
    print(f"undisturbed, one process: {time.monotonic() - started:.0f} s")
    nodes.grow(3)
    line = [sys.executable, "-m", "wordferry", "cluster", "knn-graph", source, "-k", "10", "--json"]
    line += [
        "--block",
        str(choices.block),
        "--shards",
        "8",
        "-o",
        str(tmp_path / "out"),
        "--address",
        nodes.cluster.address,
    ]
    line += ["--workers", "2"]
    journal = tmp_path / "out.job" / "done.jsonl"
    threads = [kill_when(journal, 40, a_worker), kill_when(journal, 320, nodes.kill_node)]
    found = run_twice(line, journal, 250)
    for thread in threads:
        thread.join()
    print(found)
    assert contents(tmp_path / "one") == contents(tmp_path / "out")
    assert found["repeated"] <= found["tasks"] / 10
