"""Tasks on a Ray cluster: one that runs already, or one that is started for the call on this machine."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from wordferry.base.checks import whole_number
from wordferry.base.runtime import optional_import, usable_cores
from wordferry.engines.tasks import Outcome, Task, perform
from wordferry.errors import InputError, StorageError

_RETRIES = 5
"""How often a task is given to another worker after its own has died."""
_REACH_SECONDS = 3.0
"""Seconds that a cluster's address may take to let in, and again to answer a request."""
_HEADERS, _SETTINGS, _GOAWAY = 1, 4, 7
"""Kinds of HTTP/2 frames."""


def prepare_environment() -> None:
    """What Ray is to know when it is imported: a token that nobody else has, and the loopback address.

    Once Ray has been imported its own defaults hold.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        # Without it Ray turns 127.0.0.1 into the address that other machines know, and listens on all of them.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


class Ray:
    """A Ray cluster: ``address`` of a running one, or None to start one with ``workers`` workers on this machine.

    A cluster that is started here listens on the loopback address only and asks for a token that nobody else has.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, *, store: int | None = None) -> None:
        self._store = store
        """Bytes of the object store of a cluster that is started here; None is Ray's own choice."""
        if workers is not None:
            workers = whole_number(workers, "workers")
        if address is None:
            prepare_environment()
        else:
            _check_reachable(address)
            for name in ("INITIAL", "MAX"):  # a server that is not Ray's is given up within seconds
                os.environ.setdefault(f"RAY_CLIENT_{name}_CONNECTION_TIMEOUT_S", "1")
        self._ray = optional_import("ray", "cluster")
        self._started = False
        if self._ray.is_initialized():
            self.workers = workers or int(self._ray.cluster_resources().get("CPU", 1))
        elif address is None:
            self._start(workers or usable_cores())
        else:
            self._connect(address, workers)
        nodes = sum(bool(node["Alive"]) for node in self._ray.nodes())
        self.name = f"Ray, {self.workers} workers on {nodes} node{'s' if nodes > 1 else ''}"
        self.fetched: dict[str, int] = {}
        """How often each process has taken the shared data from its node's store."""

    def _start(self, workers: int) -> None:
        constants = sys.modules.get("ray._private.ray_constants")
        if hasattr(constants, "ENABLE_RAY_CLUSTER"):  # of a program that has imported Ray before
            constants.ENABLE_RAY_CLUSTER = False  # type: ignore[union-attr]
        self._ray.init(
            address="local",
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=self._store,
            _node_ip_address="127.0.0.1",
        )
        self.workers = workers
        self._started = True

    def _connect(self, address: str, workers: int | None) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a connection that fails; the error says so
                self._ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(f"There is no Ray cluster at {address}: {str(error).splitlines()[0]}") from None
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._started = True

    def run(self, tasks: Iterable[Task], folder: str, shared: Any) -> Iterator[tuple[Task, Outcome]]:
        """Do all tasks; a worker or node that dies gives its tasks to the others."""
        ray = self._ray
        stored = ray.put(shared)
        remote = ray.remote(_perform).options(num_cpus=1, max_retries=_RETRIES)
        waiting = iter(tasks)
        running: dict[Any, Task] = {}
        try:
            while True:
                for task in islice(waiting, max(0, 2 * self.workers - len(running))):
                    running[remote.remote(task, folder, [stored])] = task
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1)
                for reference in ready:
                    task = running.pop(reference)
                    yield task, self._outcome(reference, task)
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _outcome(self, reference: Any, task: Task) -> Outcome:
        try:
            outcome, where, fetched = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise StorageError(f"The task {task.name} was lost {_RETRIES + 1} times with its worker: {error}") from None
        self.fetched[where] = fetched
        return Outcome(outcome.file, outcome.sha256, outcome.size, {**outcome.facts, "worker": where})

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        if self._started:
            self._ray.shutdown()
            self._started = False


def _check_reachable(address: str) -> None:
    """Refuse an address where nobody answers a gRPC request, as Ray's servers do; Ray would try for over a minute."""
    known = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    host, _, port = known.removeprefix("ray://").partition("/")[0].rpartition(":")
    if not host or not port.isdigit():
        return  # Ray finds it itself, or says at once what is wrong with it
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS") != "1":
                _check_answers(connection, known)
    except OSError as error:
        raise InputError(f"There is no Ray cluster at {address}: {error.strerror or error}.") from None


def _check_answers(connection: socket.socket, host: str) -> None:
    """Ask for a server's health; any answer will do, a refusal too. OSError where none comes."""
    until = time.monotonic() + _REACH_SECONDS
    path, kind = b"/grpc.health.v1.Health/Check", b"application/grpc"
    # Of HPACK's static table: 0x83 is POST, 0x86 http, 0x04 begins a path, 0x01 an authority, 0x0f10 a content type.
    fields = ((b"\x83\x86\x04", path), (b"\x01", host.encode()[:99]), (b"\x0f\x10", kind), (b"\x00\x02te", b"trailers"))
    headers = b"".join(name + bytes([len(value)]) + value for name, value in fields)
    request = _frame(_SETTINGS, b"") + _frame(_HEADERS, headers, flags=4, stream=1) + _frame(0, bytes(5), 1, 1)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + request)
    received, first = b"", True
    while True:
        connection.settimeout(max(0.001, until - time.monotonic()))
        some = connection.recv(65536)
        received += some
        while len(received) >= 9:
            size, what = int.from_bytes(received[:3], "big"), received[3]
            if (first and what != _SETTINGS) or what == _GOAWAY:
                raise OSError("something else than Ray answers there")
            if what == _HEADERS:
                return
            if len(received) < 9 + size:
                break
            received, first = received[9 + size :], False
        if not some:
            raise OSError("something else than Ray answers there")


def _frame(kind: int, data: bytes, flags: int = 0, stream: int = 0) -> bytes:
    """A frame of HTTP/2: the length of its data, its kind, flags and stream, and the data."""
    return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data


_held: dict[str, Any] = {}
_counts: dict[str, int] = {}


def _perform(task: Task, folder: str, stored: list[Any]) -> tuple[Outcome, str, int]:
    """On a worker: the shared data is taken from the node's object store once per process, not once per task."""
    import ray

    (reference,) = stored
    key = reference.hex()
    if key not in _held:
        _held.clear()
        _held[key] = ray.get(reference)
        _counts[key] = _counts.get(key, 0) + 1
    where = f"{ray.get_runtime_context().get_node_id()[:8]}/{os.getpid()}"
    return perform(task, folder, _held[key]), where, _counts[key]
