"""Threads that do the work of requests: work that nobody waits for is cancelled, and concurrent searches are joined."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

from wordferry.base.runtime import Cancel, cancellable

Item = TypeVar("Item")
Result = TypeVar("Result")


class Overloaded(Exception):
    """Too much is waiting already."""


class Workers:
    """A few threads for one kind of work, with a queue of bounded length."""

    def __init__(self, name: str, count: int, waiting: int) -> None:
        self.name, self.count, self.waiting = name, count, waiting
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=f"wordferry-{name}")
        self._running: set[Cancel] = set()
        """One for each call of :meth:`run` that has not ended, whether a thread has begun its work or not."""

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do some work in a thread. When this call is cancelled, so is the work."""
        if len(self._running) >= self.count + self.waiting:
            raise Overloaded(self.name)
        cancel = Cancel()

        def call() -> Result:
            with cancellable(cancel):
                return work(*arguments)

        self._running.add(cancel)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        except asyncio.CancelledError:
            cancel.cancel()
            raise
        finally:
            self._running.discard(cancel)

    def close(self, seconds: float = 0.0) -> None:
        """Wait at most ``seconds`` for running work, then cancel it; returns when the threads have ended."""
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(0.02)
        for cancel in list(self._running):
            cancel.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)


class _Waiting(NamedTuple):
    """An item, what it can be joined by, and who waits for its answer."""

    key: Hashable
    item: Any
    future: asyncio.Future[Any]


class Batcher(Generic[Item, Result]):
    """Runs ``work(key, items) -> results`` in threads, joining items of the same key.

    Nothing waits for a timer: an item starts at once while a thread is free. What arrives while all threads are busy
    waits, and the first of them to be free takes all that can be joined with the one that has waited longest.
    Items of a call have a ``size`` of at most ``largest`` together. What a call raises, all its items get. A call is
    cancelled when nobody waits for any of its items any more.
    """

    def __init__(
        self,
        work: Callable[[Any, Sequence[Item]], Sequence[Result]],
        workers: Workers,
        *,
        largest: float,
        size: Callable[[Item], float] = lambda item: 1.0,
    ) -> None:
        self._work, self._workers, self._largest, self._size = work, workers, largest, size
        self._waiting: list[_Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def submit(self, key: Hashable, items: Sequence[Item], taken: Callable[[Result], Any]) -> list[Result]:
        """The results of some items, all or none; ``taken`` is told of each as it comes, and may refuse to go on."""
        if len(self._waiting) + len(items) > self._workers.waiting:
            raise Overloaded(self._workers.name)
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Result]] = [loop.create_future() for _ in items]
        self._waiting += [_Waiting(key, item, future) for item, future in zip(items, futures, strict=True)]
        for _ in items[: self._workers.count - len(self._tasks)]:
            self._tasks.add(asyncio.create_task(self._drain()))
        try:
            for future in futures:
                taken(await future)
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # nobody waits for the others

    async def _drain(self) -> None:
        try:
            while batch := self._next():
                await self._run(batch)
        finally:
            self._tasks.discard(asyncio.current_task())

    def _next(self) -> list[_Waiting]:
        """Take what is called next; whoever has gone away is left out."""
        batch: list[_Waiting] = []
        left: list[_Waiting] = []
        room = self._largest
        for one in self._waiting:
            if one.future.done():
                continue
            size = self._size(one.item)
            if not batch or (one.key == batch[0].key and size <= room):
                batch.append(one)
                room -= size
            else:
                left.append(one)
        self._waiting = left
        return batch

    async def _run(self, batch: list[_Waiting]) -> None:
        job = asyncio.ensure_future(self._workers.run(self._work, batch[0].key, [one.item for one in batch]))

        def forsaken(_: asyncio.Future[Any]) -> None:
            if all(one.future.done() for one in batch):
                job.cancel()

        for one in batch:
            one.future.add_done_callback(forsaken)
        try:
            for one, result in zip(batch, await job, strict=True):
                if not one.future.done():
                    one.future.set_result(result)
        except asyncio.CancelledError:
            if not all(one.future.done() for one in batch):
                raise
        except Exception as error:
            for one in batch:
                if not one.future.done():
                    one.future.set_exception(error)
