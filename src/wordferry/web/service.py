"""The running service: an index's engine, its threads, and its batches of searches.

Light and heavy work have threads of their own, so that a short search never waits for a long one; what a request asks
for is estimated first, and refused where it is more than allowed. Health and counts wait for none of these threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import orjson

from wordferry.base.runtime import check_cancelled, usable_cores
from wordferry.compare.distances import find_distance
from wordferry.errors import InputError, NotFound, ReplacedError, StorageError, WordferryError
from wordferry.texts.reasons import no_word
from wordferry.web.engine import SearchQuery, ServedIndex, dumped
from wordferry.web.guard import access_log, log_line, share_of_request
from wordferry.web.metrics import Metrics
from wordferry.web.settings import Limits, Settings
from wordferry.web.work import WorkEstimate, of_explanation, of_pair, of_search
from wordferry.web.workers import Batcher, Overloaded, Workers
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.whole import related_of

Result = TypeVar("Result")
_PANEL = 16
"""The most searches that one call answers: they share one pass over the documents, and more would only wait."""
_HITS = 128
"""Hits above which a search takes the place of several in such a call, which holds the texts of all its hits."""
_FRESH_SECONDS = 0.25
"""How long a request for counts waits for new ones before it gets the last ones."""
_OLD_SECONDS = 5.0
_FIRST_SECONDS = 0.3
"""How long an answer waits for a map that is nearly there."""
_REPLACED = 4
"""How often a request begins again because the index was replaced under it."""
writer_admitted: ContextVar[bool] = ContextVar("wordferry_writer", default=False)
"""Whether the request that is answered here, by a task of its own, has shown that it may write."""


class Service:
    """An engine, its threads and its batches; lives as long as the application runs."""

    def __init__(self, index: Any, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.engine = ServedIndex(index, settings.limits)
        """What answers now; another one when the index was replaced."""
        self._own: ServedIndex | None = None
        """The engine whose index this service opened, and therefore closes."""
        limits = settings.limits
        self._searches = Workers("search", 2, limits.waiting)
        self._reads = Workers("read", 2, limits.waiting)
        self._heavy = Workers("heavy", limits.heavy, limits.heavy_waiting)
        self._writer = Workers("write", 1, limits.waiting)
        self._watch = Workers("watch", 1, 1)
        self._building = Workers("graph", 1, 1)
        self._drawing = Workers("map", 1, 1)
        self._map = CollectionMap(self._drawing, limits)
        self._facts: dict[str, Any] = {}
        self._seen = 0.0
        self._fresh: asyncio.Task[None] | None = None
        self._graph: asyncio.Task[RelatedWords] | None = None
        self._opening = asyncio.Lock()
        largest = _PANEL if settings.batching else 1
        self._batcher = Batcher(
            self._joined, self._searches, largest=largest, size=lambda query: max(1.0, query.needed / _HITS)
        )

    def start(self) -> asyncio.Task[None]:
        """Count what is there, unless that is under way: at first so that no request need wait for it."""
        if self._fresh is None or self._fresh.done():
            self._fresh = asyncio.create_task(self._refresh())
        return self._fresh

    def stop(self) -> None:
        """Cancel what still runs; a write gets a moment to end first."""
        for workers in (self._searches, self._heavy, self._reads, self._watch, self._building, self._drawing):
            workers.close()
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
                if (share := share_of_request.get(None)) is not None:
                    share.release()  # of the answer that is made anew
        return await call()

    async def _reopen(self, old: ServedIndex, error: ReplacedError) -> None:
        """Put the index that lies at the same place now behind the service, or say why there is none."""
        async with self._opening:
            if self.engine is not old:
                return
            try:
                self.engine = self._own = await self._reads.run(old.reopened)
            except WordferryError as reason:
                raise ReplacedError(f"{error} It could not be opened again: {reason}") from None
            if self._fresh is not None and self._fresh is not asyncio.current_task():
                self._fresh.cancel()  # it may build what the old index no longer has, and the new one waits behind it
            self._facts, self._fresh, self._graph = {}, None, None
            access_log.warning(log_line({"level": "warning", "message": f"{error} It was."}))
            await self._reads.run(old.close)

    async def read(self, call: Callable[..., Any], *arguments: Any, work: WorkEstimate | None = None) -> bytes:
        """The JSON of what a reading call gives, by the threads for its kind of work."""
        threads = self._reads if work is None or work.light(self.settings.limits) else self._heavy
        return share_of_request.get().answer(await threads.run(_json, call, *arguments))

    async def write(self, call: Callable[..., Any], *arguments: Any) -> bytes:
        """The JSON of what a writing call gives; one at a time. It ends even when its request does not wait for it.

        Only a route of the writing router gets here: one put elsewhere by mistake fails instead of being open.
        """
        if not writer_admitted.get():
            raise RuntimeError("a route that writes must be on the writing router")
        return await asyncio.shield(asyncio.create_task(self._writer.run(_json, call, *arguments)))

    async def map_state(self) -> dict[str, Any]:
        """Whether a map of the collection is ready; asking for it has it drawn."""
        return await self._map.state(*await self._reads.run(self.engine.state))

    async def map_part(self, name: str) -> bytes:
        """The texts or the arrays of that map."""
        _, key, _ = await self._reads.run(self.engine.state)
        return self._map.part(name, key)

    async def facts(self) -> dict[str, Any]:
        """What is stored: as it is now where that is known at once, else as it was a moment ago."""
        await asyncio.wait({self.start()}, timeout=_FRESH_SECONDS)
        facts: dict[str, Any] = self._facts or self.engine.facts()
        return facts

    async def _refresh(self) -> None:
        with suppress(ReplacedError, StorageError, Overloaded):  # the last ones stay
            self._facts = await self.answered(lambda: self._watch.run(self.engine.stats))
            self._seen = time.monotonic()

    async def _sizes(self) -> tuple[int, int]:
        """How many documents and different words there are, as seen a moment ago."""
        if not self._facts:
            await self.facts()
        elif time.monotonic() - self._seen > _OLD_SECONDS:
            self.start()
        return int(self._facts.get("documents") or 0), int(self._facts.get("words") or 0)

    async def search(self, request: Any) -> bytes:
        """Answer each text of a search: by its words, or by a distance where one is given."""
        how, vectors = _weighing(request), request.vectors
        if request.distance is not None:
            how["distance"] = request.distance
        elif how:
            raise InputError(f"{max(how)}: Words are weighed where texts are compared; give a distance as well.")
        if vectors is not None:
            if how:
                raise InputError("vectors: A distance compares words; leave out the vectors, or the distance.")
            if len(vectors) != len(request.texts):
                raise InputError(f"vectors: Expected one for each of {len(request.texts)} texts, got {len(vectors)}.")
            self.engine.check_vectors("vectors", vectors)
        shared = SearchQuery("", request.k, request.offset, explain=request.explain, how=how, filter=request.filter)
        given = zip(request.texts, vectors or [None] * len(request.texts), strict=True)
        results = await self._find([replace(shared, text=text, vector=vector) for text, vector in given])
        return dumped({"distance": request.distance, "results": [orjson.Fragment(one) for one in results]})

    async def similar(self, request: Any) -> bytes:
        """The documents that are like a text, or like a stored one: by a distance, or by the vectors of both."""
        like, meaning = request.like.model_dump(), request.by == "meaning"
        id = like.get("id")
        if meaning:
            self._check_meaning(request, id)
        elif request.vector is not None:
            raise InputError('vector: Vectors are compared by meaning; send "by": "meaning" as well.')
        name = "meaning" if meaning else request.distance or self.engine.index.config.distance
        how = {"by": "meaning"} if meaning else {"distance": name} | _weighing(request)
        asked = {"vector": request.vector, "how": how, "filter": request.filter}
        query = SearchQuery(like.get("text", ""), request.k, request.offset, id, **asked)
        if id is not None:
            query = replace(query, text=await self._reads.run(self.engine.text, id))
            if meaning:
                query = replace(query, vector=await self._reads.run(self.engine.vector, id))
            elif not query.text:
                raise no_word(query.text, f"The document {id!r}")
        (result,) = await self._find([query])
        return b'{"distance":' + dumped(name) + b"," + result[1:]

    def _check_meaning(self, request: Any, id: str | None) -> None:
        """Refuse what does not go with the comparison of vectors, of a text or of a stored document."""
        unfit = [name for name in ("distance", "weights", "unknown") if getattr(request, name) is not None]
        if unfit or (id is not None and request.vector is not None):
            what = "the cosine of vectors has no such choice" if unfit else "a stored document has a vector of its own"
            raise InputError(f"{(unfit or ['vector'])[0]}: By meaning, {what}; leave it out.")
        brought = None if request.vector is None else [request.vector]
        self.engine.check_vectors("by", brought if id is None else [])

    async def _find(self, queries: list[SearchQuery]) -> list[bytes]:
        """The results of queries, joined with those of others where they are light."""
        engine, limits, sizes = self.engine, self.settings.limits, await self._sizes()
        work = of_search(queries, *sizes)
        if not work.light(limits):  # perhaps it is, once its words are counted
            counts = await self._reads.run(engine.counted, queries)
            queries = [replace(query, words=count) for query, count in zip(queries, counts, strict=True)]
            work = of_search(queries, *sizes).check(limits)
        if work.light(limits):
            results = await self._batcher.submit((engine, queries[0].lane), queries, _held)
        else:
            results = await self._heavy.run(engine.search_in_turn, queries)
            for result in results:
                _held(result)
        lost = [result for result in results if isinstance(result, Exception)]
        if lost and (len(lost) == len(results) or not all(isinstance(one, InputError) for one in lost)):
            raise lost[0]  # one bad text does not lose the results of the others
        return [
            result if isinstance(result, bytes) else dumped({"hits": [], "more": False, "error": str(result)})
            for result in results
        ]

    def _joined(self, key: tuple[ServedIndex, Hashable], queries: Sequence[SearchQuery]) -> list[bytes | Exception]:
        """Answer queries that are joined because they ask the same index in the same way."""
        self.metrics.batch(len(queries))
        return key[0].search(queries)

    async def distance(self, request: Any) -> bytes:
        """The distances of two texts."""
        engine, limits = self.engine, self.settings.limits
        names = engine.chosen_distances(request.distances)
        a, b = words = await self._reads.run(engine.words_of_pair, request.a, request.b)
        work = of_pair(names, len(set(a)), len(set(b))).check(limits)
        return await self.read(engine.distances, words, names, await self._whole_graph(names), work=work)

    async def explain(self, request: Any) -> bytes:
        """The flows between two texts or stored documents."""
        engine, limits = self.engine, self.settings.limits
        pair = await self._reads.run(engine.pair, request, _weighing(request))
        a, b = pair.a.tokens, pair.b.tokens
        work = of_explanation(pair.distance, len(set(a)), len(set(b)), len(a) + len(b)).check(limits)
        related = await self._whole_graph([pair.distance]) if pair.alone else None
        return await self.read(engine.explain, pair, related, work=work)

    async def _whole_graph(self, names: Sequence[str]) -> RelatedWords | None:
        """The related words of the whole vocabulary, where a distance needs them: found once, by one thread, for all.

        Finding them goes on when a request that waits for them has no more time: the next one has them sooner.
        """
        if not any(find_distance(name).needs_related for name in names):
            return None
        if self._graph is None or (self._graph.done() and (self._graph.cancelled() or self._graph.exception())):
            relate = partial(related_of, threads=max(1, usable_cores() - 1))
            self._graph = asyncio.create_task(self._building.run(relate, self.engine.index.embeddings))
        return await asyncio.shield(self._graph)


class CollectionMap:
    """A map of the collection, drawn when somebody asks for it and kept until the collection changes.

    An older state's is never shown: what was deleted is gone.
    """

    def __init__(self, workers: Workers, limits: Limits) -> None:
        self._workers, self._limits = workers, limits
        self._task: asyncio.Task[dict[str, bytes]] | None = None
        self._key: tuple[Any, ...] = ()
        """Which index is drawn, and which state of it."""
        self._progress = 0.0

    async def state(self, index: Any, key: tuple[Any, ...], documents: int) -> dict[str, Any]:
        """Whether the map of a state is ready; if not, it is being drawn from now on."""
        if documents > self._limits.map_documents:
            raise InputError(
                f"The collection has {documents} documents, and a map of this service has "
                f"{self._limits.map_documents} at most. Draw it with 'wordferry map' instead."
            )
        if documents == 0:
            raise InputError("The collection is empty, so there is nothing to draw.")
        task = self._task
        if task is None or (task.done() and (self._key != key or task.cancelled())):
            self._key, self._progress = key, 0.0
            task = self._task = asyncio.create_task(self._workers.run(self._packed, index))
        await asyncio.wait({task}, timeout=_FIRST_SECONDS)
        ready = task.done() and self._key == key
        if ready and task.exception() is not None:  # said once: whoever asks again starts again
            self._task = None
            task.result()
        return {"ready": ready, "progress": 1.0 if ready else round(self._progress, 3), "documents": documents}

    def part(self, name: str, key: tuple[Any, ...]) -> bytes:
        """The texts or the arrays of the map that is ready, compressed as the page takes them."""
        task = self._task
        if task is None or not task.done() or self._key != key or task.exception() is not None:
            raise NotFound("No map of the present state is ready. GET /api/map draws one and says when it is.")
        return task.result()[name]

    def _packed(self, index: Any) -> dict[str, bytes]:
        from wordferry.maps.page import packed_arrays, packed_texts

        def told(done: int, total: int, /) -> None:
            check_cancelled()
            self._progress = 0.95 * done / max(total, 1)
            time.sleep(0)  # between steps, whoever waits to answer a request comes first

        drawn = index.map(threads=max(1, usable_cores() - 1), progress=told)
        check_cancelled()
        return {"texts": packed_texts(drawn, "Map"), "arrays": packed_arrays(drawn)}


def _weighing(request: Any) -> dict[str, str]:
    """What words weigh, as far as a request says it; the rest is the index's own choice."""
    given = {"weights": request.weights, "unknown": request.unknown}
    return {name: value for name, value in given.items() if value is not None}


def _json(call: Callable[..., Any], *arguments: Any) -> bytes:
    """What a call gives, as JSON."""
    return dumped(call(*arguments))


def _held(result: bytes | Exception) -> None:
    """Count a result as a part of the request's answer, from the moment in which it is there."""
    if isinstance(result, bytes):
        share_of_request.get().answer(result)
