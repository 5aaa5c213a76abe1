"""Shards behind Ray Serve: every shard has replicas in processes of their own, which are asked together.

Ray Serve keeps the replicas running and replaces those that die. The HTTP service stands before them in one process of
its own (:mod:`wordferry.web`), so that addresses, tokens, limits and page are those of ``wordferry serve``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock, Timer
from typing import Any, Literal

from wordferry.base.checks import whole_number
from wordferry.base.runtime import logger, optional_import
from wordferry.engines.on_ray import Ray
from wordferry.errors import InputError, StorageError, WordferryError
from wordferry.shards.calls import Lost
from wordferry.shards.shard import Common, Comparison, Shard
from wordferry.shards.sharded import ShardedIndex

OnMissing = Literal["answer", "error"]
_SECONDS = 10.0
"""How long a shard may take to answer before it counts as missing."""
_CLOSING_SECONDS = 30.0
"""How long a shard that was replaced stays open for whoever has asked it before."""
_DOWN_SECONDS = 0.5
"""The same for one that gave no answer the last time, so that nobody waits for it again and again."""


class Replica:
    """One shard of one or two builds in a process of its own: during a reload it answers for the old and the new."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._shards: dict[str, Shard] = {}
        self._mutex = Lock()

    def reconfigure(self, config: Mapping[str, Any]) -> None:
        """Open the shard at these addresses, newest last, and close what is no longer wanted; Ray Serve calls this."""
        opened: dict[str, Shard] = {}
        for address in config["addresses"]:
            shard = Shard(Common(address), self._number)
            opened[shard.common.manifest.identity] = shard
        with self._mutex:
            before, self._shards = self._shards, opened
        for shard in before.values():  # after those who are still being answered
            end = Timer(_CLOSING_SECONDS, shard.close)
            end.daemon = True
            end.start()

    def ask(self, build: str, method: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """The answer of the shard of a build, or our own error; any other is left to Ray."""
        with self._mutex:
            shard = self._shards.get(build)
        if shard is None:
            return False, StorageError(f"Shard {self._number} is of another build. Ask again in a moment.")
        if method == "process":
            return True, os.getpid()
        try:
            return True, getattr(shard, method)(*arguments)
        except WordferryError as error:
            return False, error


class Served:
    """Asks the replicas of all shards of one build."""

    def __init__(self, common: Common, handles: Sequence[Any], on_missing: OnMissing, seconds: float) -> None:
        self._handles, self._on_missing, self._seconds = list(handles), on_missing, seconds
        self._build = common.manifest.identity
        self._down: set[int] = set()
        self._names = [record.name for record in common.manifest.shards]
        shard = Shard(common, 0)
        try:
            self.config = shard.index.config
        finally:
            shard.close()

    def _ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """The answers by shard; one that gives none within its time is left out."""
        numbers = sorted(arguments)
        waiting = {n: self._handles[n].ask.remote(self._build, method, arguments[n]) for n in numbers}
        start = time.monotonic()
        found = {}
        for number, response in waiting.items():
            allowed = min(self._seconds, _DOWN_SECONDS) if number in self._down else self._seconds
            try:
                right, value = response.result(timeout_s=max(0.01, start + allowed - time.monotonic()))
            except Exception as error:  # whatever Ray says of a replica that is gone
                logger.warning("Shard %s gives no answer: %s", self._names[number], str(error).splitlines()[:1])
                self._down.add(number)
                response.cancel()
                continue
            self._down.discard(number)
            if not right:
                raise value
            found[number] = value
        return found

    def _lost(self, found: dict[int, Any]) -> Lost:
        missing = tuple(name for number, name in enumerate(self._names) if number not in found)
        if missing and (self._on_missing == "error" or not found):
            raise StorageError(f"No answer from the shards {', '.join(missing)}. Ask again in a moment.")
        return Lost([found[number] for number in sorted(found)], sorted(found), missing)

    def every(self, method: str, *arguments: Any) -> Lost:
        """Ask all shards the same."""
        return self._lost(self._ask(method, dict.fromkeys(range(len(self._handles)), arguments)))

    def some(self, arguments: Mapping[int, tuple[Any, ...]], method: str) -> list[Any]:
        """Ask some shards, each its own question; who gives no answer is asked once more, of another replica."""
        found = self._ask(method, arguments)
        left = {number: given for number, given in arguments.items() if number not in found}
        found |= self._ask(method, left) if left else {}
        if len(found) < len(arguments):
            names = ", ".join(self._names[number] for number in arguments if number not in found)
            raise StorageError(f"No answer from the shards {names}, which have documents of this answer. Ask again.")
        return [found[number] for number in sorted(found)]

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask one shard."""
        return self.some({number: arguments}, method)[0]

    def any(self, method: str, *arguments: Any) -> Any:
        """Ask the shards in turn until one answers."""
        for number in range(len(self._handles)):
            found = self._ask(method, {number: arguments})
            if found:
                return found[number]
        raise StorageError("No shard answers. Ask again in a moment.")

    def near(self, asked: Sequence[Sequence[str]], how: Comparison, without: str | None) -> Lost:
        """Ask all shards for near documents; the one that holds the document asked about leaves it out."""
        numbers = range(len(self._handles))
        holds: set[int] = set()
        if without is not None:
            found = self._ask("find", dict.fromkeys(numbers, (without,)))
            holds = {number for number, one in found.items() if one is not None}
        own = replace(how, without=without)
        return self._lost(self._ask("near", {n: (asked, own if n in holds else how) for n in numbers}))

    def close(self) -> None:
        """The replicas belong to :class:`Serving`."""


class Serving:
    """Replicas of all shards of a folder on a Ray cluster, and the index that asks them.

    ``on_missing`` says what an answer is when a shard is down: "answer" what the others find, with the names of those
    that are missing in ``Hits.missing``, or "error".
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
        self._replicas = whole_number(replicas, "replicas")
        self._on_missing, self._seconds, self._cpus = on_missing, seconds, cpus
        self._ray, self._owned = ray or Ray(), ray is None
        self._serve = optional_import("ray.serve", "cluster")
        self._turn = 0
        self.address = address
        self._common = Common(address)
        self._mutex = Lock()
        try:
            self._serve.start(proxy_location="Disabled")  # no port but our own
            handles = [self._deploy(n, [address]) for n in range(len(self._common.manifest.shards))]
            self._handles = handles
            self.index = ShardedIndex(self._common, Served(self._common, handles, on_missing, seconds))
        except BaseException:
            self.close()
            raise

    def _deploy(self, number: int, addresses: list[str]) -> Any:
        """Put the replicas of a shard in place; those that run are told of a change one after the other."""
        deployment = self._serve.deployment(Replica).options(
            name=f"shard-{number:05d}",
            num_replicas=self._replicas,
            user_config={"addresses": addresses, "turn": self._turn},
            ray_actor_options={"num_cpus": self._cpus},
            health_check_period_s=5,
            graceful_shutdown_timeout_s=2,
            max_ongoing_requests=16,
        )
        return self._serve.run(deployment.bind(number), name=f"shard-{number:05d}", route_prefix=None)

    def reload(self, address: str | None = None) -> None:
        """Open the shards again, from their folder or from another build of the same kind, one shard after the other.

        All the while searches are answered: from the old build until every replica has the new one, then from that.
        """
        with self._mutex:
            fresh = Common(address or self.address)
            self._check(fresh)
            self._turn += 1
            both = list(dict.fromkeys([self.address, fresh.place.address]))
            for addresses in [both] if len(both) == 1 else [both, both[1:]]:
                for number in range(len(self._handles)):
                    self._handles[number] = self._deploy(number, addresses)
                self.index.switch(fresh, Served(fresh, self._handles, self._on_missing, self._seconds))
            self.address, self._common = fresh.place.address, fresh

    def _check(self, fresh: Common) -> None:
        """Refuse what a running service cannot change to."""
        old, new = self._common.manifest, fresh.manifest
        if len(old.shards) != len(new.shards) or old.vectors != new.vectors:
            raise InputError(
                f"{fresh.place.address} has {len(new.shards)} shards, or other word vectors, than what is served "
                f"({len(old.shards)} shards). Start a new service for it."
            )

    def process(self, number: int) -> int:
        """The process of one replica of a shard."""
        return int(self.index.calls.one(number, "process"))

    def close(self) -> None:
        """End the replicas, and the cluster if it was started here."""
        self._serve.shutdown()
        if self._owned:
            self._ray.close()
