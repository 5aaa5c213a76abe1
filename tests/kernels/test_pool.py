"""The threads of the kernels: kept between calls, shared by callers, made anew in a child of a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from wordferry.base.runtime import products
from wordferry.kernels import passes

RNG = np.random.default_rng(3)

COUNTED = """
import os, numpy as np
from wordferry.kernels import passes
vectors = np.random.default_rng(0).random((4000, 20), dtype=np.float32)
def threads(): return len(os.listdir("/proc/self/task"))
before = threads()
for _ in range(50):
    passes.distances_of(vectors[:8], vectors, 4)
print(threads() - before)
"""
FORKED = """
import os, numpy as np
from wordferry.kernels import passes
vectors = np.random.default_rng(0).random((4000, 20), dtype=np.float32)
true = passes.distances_of(vectors[:8], vectors, 3)
child = os.fork()
same = np.array_equal(passes.distances_of(vectors[:8], vectors, 3), true)
if child == 0:
    os._exit(0 if same else 1)
print(same, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


ENDING = """
import threading, time, numpy as np
from wordferry.kernels import passes
values = np.zeros((3000, 3000), np.float32)
def work():
    while True:
        passes.make_symmetric(values, 2)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("the end")
"""
LOCKED = """
import os, signal, threading, numpy as np
from functools import cached_property
import wordferry
from wordferry.compare import bags
held = next(part for part in vars(bags.Bags).values() if isinstance(part, cached_property))
ready, done = threading.Event(), threading.Event()
def hold():  # as a thread does that makes what is cached
    with getattr(held, "lock", threading.Lock()):
        ready.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
ready.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    taken = getattr(held, "lock", threading.Lock()).acquire()
    os._exit(0 if taken else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.set()
"""
BLOCKED = """
import os, signal, time, numpy as np
from wordferry.kernels import passes
passes.make_symmetric(np.zeros((500, 500), np.float32), 3)
own = signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL
for _ in range(200):  # a thread that has not run yet has everything blocked, by the C library
    masks = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as lines:
            masks += [int(line.split()[1], 16) for line in lines if line.startswith("SigBlk")]
    helpers = [mask for mask in masks if mask >> (signal.SIGINT - 1) & 1]
    blocked = [mask >> (number - 1) & 1 for mask in helpers for number in own]
    if not any(blocked):
        break
    time.sleep(0.05)
print(len(helpers), blocked)
"""


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_threads_are_kept_and_not_more_than_asked_for() -> None:
    assert int(printed(COUNTED)) == 3  # the caller is the fourth


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_has_threads_of_its_own() -> None:
    assert printed(FORKED) == "True 0\n"


def test_python_ends_while_a_daemon_thread_is_in_a_kernel() -> None:
    assert printed(ENDING) == "the end\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_waits_for_no_lock_of_another_thread() -> None:
    assert printed(LOCKED) == "0\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_helpers_hear_of_their_own_faults() -> None:
    assert printed(BLOCKED) == "2 [0, 0, 0, 0, 0, 0, 0, 0]\n"


def test_callers_at_the_same_time() -> None:
    vectors = RNG.random((3000, 20), dtype=np.float32)
    true = passes.distances_of(vectors[:50], vectors, 1)
    wrong: list[int] = []

    def call(number: int) -> None:
        found = (passes.distances_of(vectors[:50], vectors, 1 + number % 4) for _ in range(20))
        wrong.extend(number for some in found if not np.array_equal(some, true))

    callers = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


def test_an_error_of_a_helper_reaches_the_caller() -> None:
    costs = RNG.random((64, 3, 3))
    masses = np.ones((64, 3), np.int64)
    masses[40] = 0
    with pytest.raises(ValueError, match="positive"):
        passes.transport_many(masses, masses, costs, 4)
    values = RNG.random((500, 500), dtype=np.float32)
    passes.make_symmetric(values, 4)
    assert np.array_equal(values, values.T)


@pytest.mark.parametrize("shape", [(5000, 30, 64), (40, 30, 6000), (3, 2, 1), (0, 5, 4)])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_products_are_those_of_numpy(shape: tuple[int, int, int], threads: int) -> None:
    rows, inner, columns = shape
    a, b = RNG.random((rows, inner), dtype=np.float32), RNG.random((columns, inner), dtype=np.float32)
    out = np.full((rows, columns), np.nan, np.float32)
    with products(threads) as multiply:
        multiply(a, b.T, out)
    np.testing.assert_allclose(out, a @ b.T, rtol=1e-6)
