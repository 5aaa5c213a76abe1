"""Throughput of two Python threads against one: calls of one Searcher and one Index, each on a single thread.

    python benchmarks/threads.py [--save]

Without the GIL (python3.14t) two threads should do almost twice as much; with it, only kernels run side by side.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import harness
import wordferry
from harness import Results
from wordferry.texts.datasets import sample

SECONDS = 0.5
ROUNDS = 3


def calls(work: Callable[[int], Any], threads: int) -> float:
    """Calls per second of ``work(number)`` in some threads that start together."""
    start, done = threading.Barrier(threads + 1), [0] * threads

    def run(place: int) -> None:
        start.wait()
        end, count = time.perf_counter() + SECONDS, 0
        while time.perf_counter() < end:
            work(place * 1000 + count)
            count += 1
        done[place] = count

    running = [threading.Thread(target=run, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in running:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def main() -> None:
    """Print calls per second and the ratio for each kind of call."""
    options = harness.parser(__doc__).parse_args()
    results = Results("threads", options)
    held = getattr(sys, "_is_gil_enabled", lambda: True)()
    results.note("gil", f"Python {sys.version.split()[0]}, {'with' if held else 'without'} the GIL")
    texts = list(sample().texts)
    searcher = wordferry.Searcher(texts, threads=1)
    index = wordferry.Index.create()
    index.add(texts)
    kinds: dict[str, Callable[[int], Any]] = {
        "distance": lambda n: wordferry.distance(texts[n % len(texts)], texts[(n + 7) % len(texts)]),
        "Searcher.top_k": lambda n: searcher.top_k([texts[n % len(texts)]], 5),
        "Index.similar": lambda n: index.similar(texts[n % len(texts)], k=5),
        "Index.search": lambda n: index.search(texts[n % len(texts)][:60], k=5),
    }
    for name, work in kinds.items():
        work(0)
        one = two = 0.0
        for _ in range(ROUNDS):
            one, two = max(one, calls(work, 1)), max(two, calls(work, 2))
        ratio = two / one
        results.add(f"{name}, two threads / one", ratio, f"{name}: {one:.0f} and {two:.0f} calls/s, ratio {ratio:.2f}")
    results.finish()


if __name__ == "__main__":
    main()
