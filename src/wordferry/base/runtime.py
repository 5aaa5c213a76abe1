"""Threads, jobs, cancelling, progress and optional imports: what is about the process, not about texts.

Work that runs in one thread is cancelled from another:

    cancel = Cancel()
    with cancellable(cancel):
        top_k(...)          # raises errors.Cancelled soon after any thread has called cancel.cancel()

Kernels look at the token of their context by themselves; loops in Python call ``check_cancelled``. A thread that is
started inside the block does not inherit the context: run it in ``contextvars.copy_context()``.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, TypeVar

from wordferry.base.checks import whole_number
from wordferry.base.progress import Progress as Progress
from wordferry.base.progress import ShowProgress as ShowProgress
from wordferry.base.progress import no_progress as no_progress
from wordferry.base.progress import progress_for as progress_for
from wordferry.errors import Cancelled, InputError, MissingDependency

Job = TypeVar("Job")
logger = logging.getLogger("wordferry")
logger.addHandler(logging.NullHandler())
"""Told texts and numbers only: whoever keeps a record of an exception keeps what its frames held, maps included."""

MEMORY = 256 << 20
"""Default of ``memory=``: bytes to work in beside the inputs and the output."""
LEAST_MEMORY = 1 << 20
DEVICES = ("cpu", "cuda", "auto")
"""What ``device=`` may name."""


Multiply = Callable[[Any, Any, Any], Any]
"""``multiply(a, b, out)``: a matrix product, as :func:`products` makes it."""
_PRODUCT_STEP = 256
"""Matrices are cut at multiples of this, as the kernels of BLAS cut them."""
_SMALL_PRODUCT = 1 << 22
"""Multiplications that are not worth waking another thread for."""


class Cancel:
    """Says stop to whatever runs inside ``cancellable`` with it; it can be said once, from any thread."""

    def __init__(self) -> None:
        from wordferry import _native

        self._token = _native.Token()

    def cancel(self) -> None:
        """Stop the work; that it has ended already is not an error."""
        self._token.set()

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._token.is_set


@contextmanager
def cancellable(cancel: Cancel) -> Iterator[None]:
    """Let ``cancel`` stop what runs inside the block; an inner block's Cancel takes the place of an outer one's."""
    from wordferry import _native

    before = _native.current_token.set(cancel._token)
    try:
        yield
    finally:
        _native.current_token.reset(before)


def check_cancelled() -> None:
    """Raise ``Cancelled`` when the work of this context was cancelled."""
    from wordferry import _native

    token = _native.current_token.get()
    if token is not None and token.is_set:
        raise Cancelled("The work was cancelled before it was done.")


def _renew_locks() -> None:
    """Replace the locks of this package in a child of a fork: a thread of the parent may have held one for ever.

    These are the locks of modules and, before Python 3.12, those of cached properties.
    """
    for name, module in list(sys.modules.items()):
        if not name.startswith("wordferry."):
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, _LOCK):
                setattr(module, key, threading.Lock())
            for part in list(vars(value).values()) if isinstance(value, type) else ():
                if isinstance(part, cached_property) and hasattr(part, "lock"):
                    part.lock = threading.RLock()


_LOCK = type(threading.Lock())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


MOST_THREADS = 4096
"""More threads than any machine has a use for; a larger number is a mistake."""


def thread_count(threads: int | None = None) -> int:
    """The number of threads to use: the argument, else ``WORDFERRY_THREADS``, else every usable core."""
    if threads is None:
        text = os.environ.get("WORDFERRY_THREADS", "").strip()
        if not text:
            return usable_cores()
        try:
            threads = int(text)
        except ValueError:
            raise InputError(f"WORDFERRY_THREADS must be a whole number of threads, got {text!r}.") from None
    return whole_number(threads, "threads", most=MOST_THREADS, advice="Leave it out to use every core.")


def device_name(device: str | None = None) -> str:
    """The device to use: the argument, else ``WORDFERRY_DEVICE``, else "cpu"."""
    name = "device" if device is not None else "WORDFERRY_DEVICE"
    chosen = device if device is not None else os.environ.get("WORDFERRY_DEVICE", "").strip() or "cpu"
    if chosen not in DEVICES:
        raise InputError(f"{name} must be one of {', '.join(map(repr, DEVICES))}; got {chosen!r}.")
    return chosen


def usable_cores() -> int:
    """Cores this process may run on (the affinity mask where the system has one)."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


_blas_lock = threading.Lock()
_blas_limits: list[Any] = []
"""The limit in force, once for each block that holds it."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold NumPy's matrix products to one thread inside the block, and restore what was allowed after it.

    The limit is that of the process: of blocks that overlap in several threads, the last to end restores it.
    """
    with _blas_lock:
        _blas_limits.append(_blas_limits[0] if _blas_limits else _free_pools().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _blas_lock:
            limit = _blas_limits.pop()
            if not _blas_limits:
                _free_pools()
                limit.restore_original_limits()
                _free_pools()


@contextmanager
def products(threads: int) -> Iterator[Multiply]:
    """Matrix products on ``threads`` threads that sleep between them: ``multiply(a, b, out)``.

    The threads of BLAS wait for the next product by spinning, and then take the cores from whatever runs in between;
    so BLAS is held to one thread inside the block, and large products are cut up for threads of our own.
    """
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    one: Multiply = np.matmul
    with one_blas_thread():
        if threads == 1:
            yield one
            return
        with ThreadPoolExecutor(threads - 1) as pool:

            def multiply(a: Any, b: Any, out: Any) -> None:
                if a.size * b.shape[1] < _SMALL_PRODUCT:
                    one(a, b, out)
                    return
                tall, size = len(a) >= b.shape[1], max(len(a), b.shape[1])
                step = -(-size // threads // _PRODUCT_STEP) * _PRODUCT_STEP
                parts = [slice(low, low + step) for low in range(0, size, step)]
                cut = [(a[p], b, out[p]) if tall else (a, b[:, p], out[:, p]) for p in parts]
                others = [pool.submit(one, *some) for some in cut[1:]]
                one(*cut[0])
                for other in others:
                    other.result()

            yield multiply


def run_jobs(jobs: Sequence[Job], work: Callable[[Job], float], threads: int, progress: Progress) -> float:
    """Run every job on ``threads`` threads, BLAS held to one thread each, and add up what they return, in order.

    The calling thread only waits, so that Ctrl-C and a Cancel are noticed at once; jobs that run are finished, no
    other is begun.
    """
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    import numpy as np

    results, left, finished = np.zeros(len(jobs), np.float64), deque(range(len(jobs))), list[int]()

    def serve() -> None:
        while True:
            try:
                number = left.popleft()
            except IndexError:
                return
            results[number] = work(jobs[number])
            finished.append(number)

    with one_blas_thread():
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
            left.clear()  # whoever has finished a job finds no other
            # Joining the threads would not do: Python 3.11, interrupted in it by Ctrl-C, takes a running one for ended.
            while not all(one.done() for one in serving):
                time.sleep(0.001)
            pool.shutdown(wait=False)
    for one in serving:
        one.result()
    progress(len(jobs), len(jobs))
    return float(results.sum())


@cache
def _loaded_libraries() -> Any:
    """The thread pools of this process. Looking for them takes milliseconds, so it is done once, NumPy being there."""
    import numpy  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _free_pools() -> Any:
    """The thread pools of this process, which no thread controls: threadpoolctl obeys the first to change one alone."""
    pools = _loaded_libraries()
    for pool in pools.lib_controllers:
        if hasattr(pool, "clear_controlling_thread"):  # since 3.8
            pool.clear_controlling_thread(force=True)
    return pools


def optional_import(module: str, extra: str) -> ModuleType:
    """Import an optional package, or say which pip line brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependency(
            f"{module.partition('.')[0]} is needed for this and is not installed. "
            f"Install it with: pip install 'wordferry[{extra}]'"
        ) from error


class Report:
    """A part of a long job that tells the caller's progress where the whole job stands, and stops it when cancelled."""

    def __init__(self, progress: Progress | None, total: int, low: float = 0.0, high: float = 1.0) -> None:
        self.progress, self.total, self.low, self.high = progress, total, low, high

    def part(self, low: float, high: float) -> Report:
        """The report of a part of this part: from share ``low`` to share ``high`` of it."""
        width = self.high - self.low
        return Report(self.progress, self.total, self.low + low * width, self.low + high * width)

    def __call__(self, done: float, total: float = 1.0, /) -> None:
        check_cancelled()
        if self.progress is not None:
            share = self.low + (self.high - self.low) * (done / total if total else 1.0)
            self.progress(min(self.total, round(share * self.total)), self.total)


@dataclass(frozen=True)
class Run:
    """How to run, whatever is computed: nothing here changes an answer.

    Parameters
    ----------
    threads : how many threads; None means ``WORDFERRY_THREADS``, else every usable core.
    memory : bytes to work in beside the inputs and the output, at least a megabyte; on a GPU these are bytes of the
        device, and half of what is free there unless a number is given.
    progress : True shows a bar, on a terminal or in a notebook; a callable is told ``(done, total)`` while a long
        call runs.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU), or "auto", which is a GPU where there is one; None means
        ``WORDFERRY_DEVICE``, else "cpu". What has no method for a GPU is computed on the CPU.

    Examples
    --------
    >>> Run(threads=2, memory=1 << 30).threads
    2
    """

    threads: int | None = None
    memory: int = MEMORY
    progress: ShowProgress = None
    device: str | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:  # else it is decided when threads are needed: a single pair needs none
            object.__setattr__(self, "threads", thread_count(self.threads))
        object.__setattr__(self, "memory", whole_number(self.memory, "memory", LEAST_MEMORY, of="bytes"))
        object.__setattr__(self, "progress", progress_for(self.progress))
        if self.device is not None:  # else it is decided where something is computed that a GPU could do
            device_name(self.device)

    @property
    def workers(self) -> int:
        """The number of threads, decided."""
        return thread_count(self.threads)
