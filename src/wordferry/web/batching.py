"""Joins concurrent searches into one call, so that load makes the service more efficient.

Nothing waits for a timer: the first search starts at once, and what arrives while it runs forms the next batch. That
one starts when the first has ended, or beside it as soon as it is nearly full: then there is work for all threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from wordferry.web.workers import Overloaded, Workers

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass
class _Lane(Generic[Item, Answer]):
    """What waits for one kind of call; only calls of one kind can be joined."""

    waiting: deque[tuple[Item, asyncio.Future[Answer]]] = field(default_factory=deque)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Those that run calls, one after the other."""


class Batcher(Generic[Item, Answer]):
    """Runs ``work(key, items) -> answers`` in threads, joining items of the same key.

    A lane (key) has one call running, and more only where each is nearly as large as it may be; different lanes share
    the threads of ``workers``. An item whose batch fails is tried alone, so that nobody gets a neighbour's error. A
    call is cancelled when nobody waits for any of its items any more.
    """

    def __init__(
        self,
        work: Callable[[Any, Sequence[Item]], Sequence[Answer]],
        workers: Workers,
        *,
        largest: int,
        waiting: int,
        observe: Callable[[int], object] = lambda size: None,
    ) -> None:
        self._work = work
        self._workers = workers
        self._largest = largest
        self._enough = max(1, largest * 3 // 4)
        """Items that are worth a call beside another one."""
        self._most_waiting = waiting
        self._observe = observe
        self._lanes: dict[Hashable, _Lane[Item, Answer]] = {}
        self._waiting = 0
        self._turns = asyncio.Semaphore(workers.count)

    async def submit(self, key: Hashable, item: Item) -> Answer:
        """The answer to one item."""
        if self._waiting >= self._most_waiting:
            raise Overloaded(self._workers.name)
        lane = self._lanes.setdefault(key, _Lane())
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        lane.waiting.append((item, future))
        self._waiting += 1
        if not lane.tasks or (len(lane.waiting) >= self._enough and len(lane.tasks) < self._workers.count):
            lane.tasks.add(asyncio.create_task(self._drain(key, lane)))
        return await future

    async def _drain(self, key: Hashable, lane: _Lane[Item, Answer]) -> None:
        while lane.waiting and (len(lane.tasks) == 1 or len(lane.waiting) >= self._enough):
            async with self._turns:
                batch: list[tuple[Item, asyncio.Future[Answer]]] = []
                while lane.waiting and len(batch) < self._largest:
                    item, future = lane.waiting.popleft()
                    self._waiting -= 1
                    if not future.done():  # its request may have timed out or gone away
                        batch.append((item, future))
                if batch:
                    await self._run(key, batch)
        lane.tasks.discard(asyncio.current_task())
        if not lane.tasks:  # else the other one takes what waits
            del self._lanes[key]

    async def _run(self, key: Hashable, batch: list[tuple[Item, asyncio.Future[Answer]]]) -> None:
        items = [item for item, _ in batch]
        job = asyncio.ensure_future(self._workers.run(self._work, key, items))

        def forsaken(_: asyncio.Future[Answer]) -> None:
            if all(future.done() for _, future in batch):
                job.cancel()

        for _, future in batch:
            future.add_done_callback(forsaken)
        try:
            self._observe(len(batch))
            answers = await job
            if len(answers) != len(batch):
                raise RuntimeError(f"{len(batch)} searches came back as {len(answers)} answers")
        except asyncio.CancelledError:
            if not all(future.done() for _, future in batch):
                raise
            return
        except Exception as error:
            if len(batch) > 1:
                for pair in batch:
                    if not pair[1].done():
                        await self._run(key, [pair])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)
