"""Many jobs on a few threads of Python, for work that is matrix products and kernels."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np

from wordferry.base.runtime import Progress, blas_threads, check_cancelled

Job = TypeVar("Job")


def run_jobs(jobs: Sequence[Job], work: Callable[[Job], float], threads: int, progress: Progress) -> float:
    """Run every job on ``threads`` threads, BLAS held to one thread each, and add up what they return, in order.

    The calling thread only waits, so that Ctrl-C and a Cancel are noticed at once; jobs that run are finished, no
    other is begun.
    """
    results, left = np.zeros(len(jobs), np.float64), deque(range(len(jobs)))
    finished: list[int] = []

    def serve() -> None:
        while left:
            try:
                number = left.popleft()
            except IndexError:  # another thread was faster
                return
            results[number] = work(jobs[number])
            finished.append(number)

    with blas_threads(1):
        if threads == 1 or len(jobs) < 2:
            for number, job in enumerate(jobs):
                results[number] = work(job)
                check_cancelled()
                progress(number + 1, len(jobs))
            return float(results.sum())
        pool = ThreadPoolExecutor(min(threads, len(jobs)))
        serving = [pool.submit(serve) for _ in range(min(threads, len(jobs)))]
        try:
            while (state := wait(serving, 0.05, FIRST_EXCEPTION)).not_done:
                check_cancelled()
                progress(len(finished), len(jobs))
                if any(one.exception() for one in state.done):
                    break
        finally:
            left.clear()
            # Joining the threads would not do: Python 3.11, interrupted in it by Ctrl-C, takes a running one for ended.
            while not all(one.done() for one in serving):
                time.sleep(0.001)
            pool.shutdown(wait=False)
    for one in serving:
        one.result()
    progress(len(jobs), len(jobs))
    return float(results.sum())
