"""Many jobs on a few threads of Python, for work that is matrix products and kernels."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from wordferry.base.runtime import Progress, blas_threads, check_cancelled

Job = TypeVar("Job")


def run_jobs(jobs: Sequence[Job], work: Callable[[Job], float], threads: int, progress: Progress) -> float:
    """Run every job on ``threads`` threads, BLAS held to one thread each, and add up what they return, in order.

    The calling thread only waits, so that Ctrl-C and a Cancel are noticed at once; jobs that run are finished, no
    other is begun.
    """
    queue = _Queue(jobs, work)
    with blas_threads(1):
        if threads == 1 or len(jobs) == 1:
            while queue.serve_one():
                check_cancelled()
                progress(queue.finished, len(jobs))
            return float(queue.results.sum())
        try:
            for _ in range(min(threads, len(jobs))):
                threading.Thread(target=queue.serve).start()
            while not queue.over.wait(0.05):
                check_cancelled()
                progress(queue.finished, len(jobs))
        finally:
            queue.close()
    if queue.failure is not None:
        raise queue.failure
    progress(len(jobs), len(jobs))
    return float(queue.results.sum())


class _Queue(Generic[Job]):
    """Jobs that several threads take from, and what became of them."""

    def __init__(self, jobs: Sequence[Job], work: Callable[[Job], float]) -> None:
        self.jobs, self.work = jobs, work
        self.results = np.zeros(len(jobs), np.float64)
        self.finished = 0
        self.failure: BaseException | None = None
        self.over = threading.Event()
        """Set when all jobs are done or one has failed."""
        self._serving = 0
        self._closed = False
        self._next = iter(range(len(jobs)))
        self._lock = threading.Lock()
        if not jobs:
            self.over.set()

    def serve_one(self) -> bool:
        """Do the next job; False when there is none."""
        with self._lock:
            k = next(self._next, None)
        if k is None:
            return False
        self.results[k] = self.work(self.jobs[k])
        with self._lock:
            self.finished += 1
            if self.finished == len(self.jobs):
                self.over.set()
        return True

    def serve(self) -> None:
        """Do jobs until none is left, one fails, or the queue is closed."""
        with self._lock:
            if self._closed:
                return
            self._serving += 1
        try:
            while not self._closed and self.serve_one():
                pass
        except BaseException as error:
            self.failure = error
            self._closed = True
            self.over.set()
        finally:
            with self._lock:
                self._serving -= 1

    def close(self) -> None:
        """Let no job begin any more, and wait for those that run.

        Thread.join would not do: interrupted once by Ctrl-C, it takes a running thread for ended (Python 3.11).
        """
        with self._lock:
            self._closed = True
        while self._serving:
            time.sleep(0.001)
