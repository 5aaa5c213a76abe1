"""The running service: an index's engine, its threads, and its batches of searches.

Light and heavy work have threads of their own, so that a short search never waits for a long one; what a request asks
for is estimated first, and refused where it is more than allowed. Health and counts wait for none of these threads.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeVar

from wordferry.base.runtime import thread_count
from wordferry.errors import InputError, ReplacedError, StorageError, WordferryError
from wordferry.web.batching import Batcher
from wordferry.web.comparing import COUNTED, Weighed
from wordferry.web.engine import Answer, Engine, Lane, Query
from wordferry.web.guard import access_log
from wordferry.web.mapping import Mapping
from wordferry.web.metrics import Metrics
from wordferry.web.settings import Settings
from wordferry.web.work import Work
from wordferry.web.workers import Workers

Result = TypeVar("Result")
_PANEL = 16
"""Searches that one call answers at most: so many share one pass over the documents, and more would only wait."""
_FRESH_SECONDS = 0.25
"""How long a request for counts waits for new ones before it gets the last ones."""
_OLD_SECONDS = 5.0
_REPLACED = 4
"""How often a request begins again because the index was replaced under it."""
_admitted: ContextVar[bool] = ContextVar("wordferry_writer", default=False)


@contextmanager
def writer_admitted() -> Iterator[None]:
    """Within it, a request has shown that it may write."""
    token = _admitted.set(True)
    try:
        yield
    finally:
        _admitted.reset(token)


class Service:
    """An engine, its threads and its batches; lives as long as the application runs."""

    def __init__(self, index: Any, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.engine = Engine(index, settings.limits)
        """What answers now; another one when the index was replaced."""
        self._own: Engine | None = None
        """The same, where its index was opened here."""
        limits = settings.limits
        self._searches = Workers("search", 2, limits.waiting)
        self._reads = Workers("read", 2, limits.waiting)
        self._heavy = Workers("heavy", limits.heavy, limits.heavy_waiting)
        self._writer = Workers("write", 1, limits.waiting)
        self._watch = Workers("watch", 1, 1)
        self._share = _Share()
        self._mapping = Mapping(limits)
        self._facts: dict[str, Any] = {}
        self._seen = 0.0
        self._fresh: asyncio.Task[None] | None = None
        self._opening: asyncio.Lock | None = None
        self.batcher: Batcher[Query, Answer] | None = None

    def start(self) -> None:
        """Make what belongs to the running event loop."""
        self._opening = asyncio.Lock()
        self.batcher = Batcher(
            self._joined,
            self._searches,
            largest=_PANEL if self.settings.batching else 1,
            waiting=self.settings.limits.waiting,
            observe=self.metrics.batch,
        )
        self._fresh = asyncio.create_task(self._refresh())

    def stop(self) -> None:
        """Cancel what still runs; a write gets a moment to end first."""
        for workers in (self._searches, self._heavy, self._reads, self._watch):
            workers.close()
        self._mapping.stop()
        self._writer.close(self.settings.stop_seconds / 4)
        if self._own is not None:
            self._own.close()

    async def answered(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """What a request's call gives. When the index was replaced meanwhile, it is made again with the new one."""
        for _ in range(_REPLACED):
            engine = self.engine
            try:
                return await call()
            except (ReplacedError, StorageError) as error:
                if engine is self.engine:  # else somebody has opened the new one already, and closed the old one
                    if not isinstance(error, ReplacedError):
                        raise
                    await self._reopen(engine, error)
        return await call()

    async def _reopen(self, old: Engine, error: ReplacedError) -> None:
        """Put the index that lies at the same place now behind the service, or say why there is none."""
        assert self._opening is not None
        async with self._opening:
            if self.engine is not old:
                return
            try:
                self.engine = self._own = await self._reads.run(old.reopened)
            except WordferryError as reason:
                raise ReplacedError(f"{error} It could not be opened again: {reason}") from None
            self._facts, self._fresh = {}, None
            access_log.warning(json.dumps({"level": "warning", "message": f"{error} It was."}))
            await self._reads.run(old.close)

    async def read(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a light reading call in a thread."""
        return await self._reads.run(work, *arguments)

    async def run(self, work: Work, call: Callable[..., Result], *arguments: Any) -> Result:
        """Run a reading call by the threads for its kind of work."""
        light = work.check(self.settings.limits).light(self.settings.limits)
        return await (self._reads if light else self._heavy).run(call, *arguments)

    async def write(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a writing call; one at a time. It ends even when its request does not wait for it.

        Only a route of the writing router gets here: one put elsewhere by mistake fails instead of being open.
        """
        if not _admitted.get():
            raise RuntimeError("a route that writes must be on the writing router")
        return await asyncio.shield(asyncio.create_task(self._writer.run(work, *arguments)))

    async def map_state(self) -> dict[str, Any]:
        """Whether a map of the collection is ready; asking for it has it drawn."""
        return await self._mapping.state(*await self.read(self.engine.state))

    async def map_part(self, name: str) -> bytes:
        """The texts or the arrays of that map."""
        _, key, _ = await self.read(self.engine.state)
        return self._mapping.part(name, key)

    async def facts(self) -> dict[str, Any]:
        """What is stored: as it is now where that is known at once, else as it was a moment ago."""
        if self._fresh is None or self._fresh.done():
            self._fresh = asyncio.create_task(self._refresh())
        await asyncio.wait({self._fresh}, timeout=_FRESH_SECONDS)
        return self._facts or self.engine.unknown_facts()

    async def _refresh(self) -> None:
        with suppress(ReplacedError, StorageError):  # the last ones stay
            self._facts = await self.answered(lambda: self._watch.run(self.engine.stats))
            self._seen = time.monotonic()

    async def search(self, request: Any) -> list[dict[str, Any]]:
        """Answer each text of a search."""
        queries = [Query(text, request.k, request.offset, explain=request.explain) for text in request.texts]
        engine = self.engine
        return await self._find(engine, queries, engine.lane(request.distance, request.filter))

    def weighed(self, request: Any) -> Weighed:
        """What words weigh in a request; plain counts are those of a search by a distance."""
        return COUNTED if getattr(request, "plain", False) else Weighed(request.weights, request.unknown)

    async def similar(self, request: Any) -> dict[str, Any]:
        """The documents that are like a text, or like a stored one."""
        engine, like = self.engine, request.like.model_dump()
        if "text" in like:
            query = Query(like["text"], request.k, request.offset)
        else:
            query = await self.read(engine.like, like["id"], request.k, request.offset, self.weighed(request))
        lane = engine.lane(engine.name(request.distance), request.filter, self.weighed(request))
        return (await self._find(engine, [query], lane))[0]

    async def _find(self, engine: Engine, queries: list[Query], lane: Lane) -> list[dict[str, Any]]:
        """Answer queries, joined with those of others where they are light."""
        assert self.batcher is not None
        limits = self.settings.limits
        sizes = await self._sizes()
        work = engine.most_work(queries, lane, *sizes)
        if not work.light(limits):  # perhaps it is, once its words are counted
            queries = await self.read(engine.prepare, queries)
            work = engine.most_work(queries, lane, *sizes).check(limits)
        if work.light(limits):
            answers = await _together([self.batcher.submit((engine, lane), query) for query in queries])
        else:
            answers = await self._heavy.run(engine.search_in_turn, lane, queries)
        lost = [answer for answer in answers if isinstance(answer, Exception)]
        if lost and (len(lost) == len(answers) or not all(isinstance(one, InputError) for one in lost)):
            raise lost[0]  # one bad text does not lose the answers of the others
        return [answer if isinstance(answer, dict) else _unanswered(answer) for answer in answers]

    def _joined(self, key: tuple[Engine, Lane], queries: Sequence[Query]) -> Sequence[Answer]:
        """Queries that are joined because they ask the same index in the same way."""
        engine, lane = key
        with self._share.threads() as threads:
            return engine.search(lane, queries, threads)

    async def _sizes(self) -> tuple[int, int]:
        """How many documents and different words there are, as seen a moment ago."""
        if not self._facts:
            await self.facts()
        elif time.monotonic() - self._seen > _OLD_SECONDS and (self._fresh is None or self._fresh.done()):
            self._fresh = asyncio.create_task(self._refresh())
        return int(self._facts.get("documents") or 0), int(self._facts.get("words") or 0)


def _unanswered(error: Exception) -> dict[str, Any]:
    """The answer for one of several texts that has none."""
    return {"hits": [], "more": False, "error": str(error)}


class _Share:
    """How many threads each of several calls gets: all of them, or its part while others run."""

    def __init__(self) -> None:
        self._mutex, self._running = Lock(), 0

    @contextmanager
    def threads(self) -> Iterator[int]:
        with self._mutex:
            self._running += 1
            mine = max(1, thread_count() // self._running)
        try:
            yield mine
        finally:
            with self._mutex:
                self._running -= 1


async def _together(calls: list[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results of several calls; when one fails, nobody waits for the others."""
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.create_task(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
