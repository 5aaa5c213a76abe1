"""Where tasks run. An engine is given tasks and hands back outcomes as they come; the answer never depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from typing import Any, Protocol

from wordferry.base.checks import whole_number
from wordferry.engines.tasks import Outcome, Task, perform


class TaskEngine(Protocol):
    """Runs tasks somewhere."""

    name: str

    def run(self, tasks: Iterable[Task], folder: str, shared: Any) -> Iterator[tuple[Task, Outcome]]:
        """Do all tasks, in any order; ``shared`` reaches every place of work once."""
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


class Local:
    """This process, or some processes on this machine."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = whole_number(workers, "workers")
        self.name = f"{workers} process{'es' if workers > 1 else ''} on this machine"

    def run(self, tasks: Iterable[Task], folder: str, shared: Any) -> Iterator[tuple[Task, Outcome]]:
        """Do all tasks, here when there is one worker."""
        if self.workers == 1:
            for task in tasks:
                yield task, perform(task, folder, shared)
            return
        waiting = iter(tasks)
        running: dict[Future[Outcome], Task] = {}
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _receive, (shared,))
        try:
            while True:
                for task in islice(waiting, 2 * self.workers - len(running)):
                    running[pool.submit(_perform, task, folder)] = task
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Nothing is kept between runs."""


_shared: list[Any] = []


def _receive(shared: Any) -> None:
    _shared[:] = [shared]


def _perform(task: Task, folder: str) -> Outcome:
    return perform(task, folder, _shared[0])
