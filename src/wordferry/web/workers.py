"""Threads that do the work of requests; work that nobody waits for any more is cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from wordferry.base.runtime import Cancel, cancellable

Result = TypeVar("Result")


class Overloaded(Exception):
    """Too much is waiting already."""


class Workers:
    """A few threads for one kind of work, with a queue of bounded length."""

    def __init__(self, name: str, count: int, waiting: int) -> None:
        self.name, self.count, self.waiting = name, count, waiting
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=f"wordferry-{name}")
        self._running: set[Cancel] = set()
        self._pending = 0

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do some work in a thread. When this call is cancelled, so is the work."""
        if self._pending >= self.count + self.waiting:
            raise Overloaded(self.name)
        cancel = Cancel()
        self._pending += 1
        self._running.add(cancel)
        future = asyncio.get_running_loop().run_in_executor(self._threads, _call, cancel, work, arguments)
        try:
            return await future
        except asyncio.CancelledError:
            cancel.cancel()
            raise
        finally:
            self._pending -= 1
            self._running.discard(cancel)

    def close(self, seconds: float = 0.0) -> None:
        """Wait at most ``seconds`` for running work, then cancel it; returns when the threads have ended."""
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(0.02)
        for cancel in list(self._running):
            cancel.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)


def _call(cancel: Cancel, work: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    with cancellable(cancel):
        return work(*arguments)
