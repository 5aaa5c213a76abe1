"""Shards in processes of their own on a Ray cluster, which are asked together.

Every shard has replicas, actors that Ray starts again when their process dies. The HTTP service stands before them in
one process of its own (:mod:`wordferry.web`), so that addresses, tokens, limits and page are those of ``wordferry
serve``, and no port but its own is opened.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Any, Literal

from wordferry.base.checks import whole_number
from wordferry.base.runtime import logger, optional_import
from wordferry.engines.on_ray import Ray
from wordferry.errors import InputError, WordferryError
from wordferry.index import Index
from wordferry.shards.shard import Common, Shard
from wordferry.shards.sharded import ShardBackend, ShardRouter

OnMissing = Literal["answer", "error"]
_SECONDS = 10.0
"""Seconds that a shard may take to answer before it counts as missing."""
_DOWN_SECONDS = 0.5
"""Seconds for a replica that gave no answer the last time, so that nobody waits for it again and again. Once a late
answer of it has come, it has its full time again: it was busy, not gone."""
_TOGETHER = 16
"""Questions that a replica answers at once."""


class Replica:
    """One shard in a process of its own."""

    def __init__(self, address: str, number: int) -> None:
        self._address, self._number = address, number
        self._shard: Shard | None = None
        self._mutex = Lock()

    def ask(self, method: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """The answer of the shard, or our own error; any other is left to Ray, as is a shard that does not open."""
        with self._mutex:
            if self._shard is None:  # not before: while its folder is away, the process can wait for it
                self._shard = Shard(Common(self._address), self._number)
        if method == "process":
            return True, os.getpid()
        try:
            return True, getattr(self._shard, method)(*arguments)
        except WordferryError as error:
            return False, error


class RayBackend(ShardRouter):
    """Asks the replicas of all shards."""

    def __init__(
        self, common: Common, replicas: Sequence[Sequence[Any]], on_missing: OnMissing, seconds: float
    ) -> None:
        super().__init__(common)
        self._replicas, self.strict, self._seconds = replicas, on_missing == "error", seconds
        self._ray = optional_import("ray", "cluster")
        self._down: dict[tuple[int, int], Any] = {}
        """Replicas that gave no answer the last time, each with what it still owes."""
        self._turn = count()

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """The answers by shard; one of whose replicas none gives an answer within the time is left out."""
        start, turn = time.monotonic(), next(self._turn)
        order = {number: self._in_turn(number, turn) for number in sorted(arguments)}
        waiting = {n: self._replicas[n][places[0]].ask.remote(method, arguments[n]) for n, places in order.items()}
        found = {}
        for number, places in order.items():
            for place in places:
                asked = waiting.pop(number, None) or self._replicas[number][place].ask.remote(method, arguments[number])
                allowed = min(self._seconds, _DOWN_SECONDS) if self._is_down(number, place) else self._seconds
                try:
                    right, value = self._ray.get(asked, timeout=max(0.01, start + allowed - time.monotonic()))
                except self._ray.exceptions.RayError as error:
                    logger.warning("Shard %s gives no answer: %s", self.names[number], str(error).splitlines()[:1])
                    self._down[number, place] = asked
                    continue
                self._down.pop((number, place), None)
                if not right:
                    raise value
                found[number] = value
                break
        return found

    def _is_down(self, number: int, place: int) -> bool:
        """Whether a replica gave no answer the last time, and has given none since."""
        owed = self._down.get((number, place))
        if owed is None:
            return False
        try:
            self._ray.get(owed, timeout=0)
        except self._ray.exceptions.RayError:  # also where the time is over
            return True
        self._down.pop((number, place), None)
        return False

    def _in_turn(self, number: int, turn: int) -> list[int]:
        """The replicas of a shard in the order in which they are asked: in turn, those that are down last."""
        total = len(self._replicas[number])
        return sorted(range(total), key=lambda place: ((number, place) in self._down, (place - turn) % total))

    def close(self) -> None:
        """The replicas belong to :class:`Serving`."""


class Serving:
    """Replicas of all shards of a folder on a Ray cluster, and the index that asks them.

    ``on_missing`` says what an answer is when a shard is down: "answer" what the others find, with the names of those
    that are missing in ``Hits.missing``, or "error". ``cpus`` is what Ray sets aside for each replica. Another build
    of the shards gets a service of its own.
    """

    def __init__(
        self,
        address: str,
        *,
        replicas: int = 1,
        on_missing: OnMissing = "answer",
        seconds: float = _SECONDS,
        ray: Ray | None = None,
        cpus: float = 0.1,
    ) -> None:
        if on_missing not in ("answer", "error"):
            raise InputError(f"on_missing must be 'answer' or 'error', got {on_missing!r}.")
        whole_number(replicas, "replicas")
        common = Common(address)
        self._engine, self._owned = ray or Ray(), ray is None
        self._ray = optional_import("ray", "cluster")
        shards = range(len(common.manifest.shards))
        actor = self._ray.remote(Replica).options(
            max_restarts=-1, max_concurrency=_TOGETHER, num_cpus=cpus, scheduling_strategy="SPREAD"
        )
        self._replicas = [[actor.remote(address, number) for _ in range(replicas)] for number in shards]
        try:
            self._ray.get([one.ask.remote("facts", ()) for some in self._replicas for one in some])
            self._router = RayBackend(common, self._replicas, on_missing, seconds)
            self.index = Index(ShardBackend(common, self._router))
        except BaseException as error:
            self.close()
            if isinstance(error, self._ray.exceptions.RayTaskError) and isinstance(error.cause, WordferryError):
                raise error.cause from None
            raise

    def process(self, number: int) -> int:
        """The process of one replica of a shard."""
        return int(self._router.one(number, "process"))

    def close(self) -> None:
        """End the replicas, and the cluster if it was started here."""
        for some in self._replicas:
            for one in some:
                self._ray.kill(one)
        if self._owned:
            self._engine.close()
