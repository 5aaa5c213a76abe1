"""The running service: an index's engine, its threads, and its batches of searches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from wordferry.web.batching import Batcher
from wordferry.web.engine import Answer, Engine, Query
from wordferry.web.metrics import Metrics
from wordferry.web.settings import Settings

Result = TypeVar("Result")
_PANEL = 16
"""Searches that one call answers at most: so many share one pass over the documents, and more would only wait."""
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
        self.engine = Engine(index)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="wordferry-web")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="wordferry-writer")
        self.batcher: Batcher[Query, Answer] | None = None

    def start(self) -> None:
        """Make what belongs to the running event loop."""
        limits = self.settings.limits
        self.batcher = Batcher(
            self.engine.search,
            largest=_PANEL if self.settings.batching else 1,
            waiting=limits.waiting,
            observe=self.metrics.batch,
        )

    def stop(self) -> None:
        """Let what runs end."""
        if self.batcher is not None:
            self.batcher.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)

    async def read(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a reading call in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def write(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a writing call; one at a time. It ends even when its request does not wait for it.

        Only a route of the writing router gets here: one put elsewhere by mistake fails instead of being open.
        """
        if not _admitted.get():
            raise RuntimeError("a route that writes must be on the writing router")
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._writer, work, *arguments))

    async def search(self, request: Any) -> list[dict[str, Any]]:
        """Answer each text of a search, joined with the searches of others."""
        assert self.batcher is not None
        key = self.engine.lane(request.distance, request.filter)
        waiting = [self.batcher.submit(key, (text, request.k)) for text in request.texts]
        answers = await asyncio.gather(*waiting)
        for number, answer in enumerate(answers):
            if isinstance(answer, Exception):
                raise answer if len(answers) == 1 else type(answer)(f"texts.{number}: {answer}")
        return [answer for answer in answers if isinstance(answer, dict)]
