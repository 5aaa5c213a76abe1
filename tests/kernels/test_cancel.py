"""Work is stopped from another thread: every kind of call that can run long ends with Cancelled, soon."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array

import wordferry
from wordferry.base.runtime import Cancel, Report, cancellable, check_cancelled
from wordferry.errors import Cancelled, WordferryError
from wordferry.kernels import native, passes

SOON = 5.0
"""Seconds; generous, because the machine may be busy. Each call below would take far longer than this by itself."""
RNG = np.random.default_rng(5)


def documents(rows: int, words: int, each: int) -> csr_array:
    indices = np.concatenate([np.sort(RNG.choice(words, each, replace=False)) for _ in range(rows)])
    data = RNG.integers(1, 4, len(indices)).astype(np.float64)
    return csr_array((data, indices, np.arange(rows + 1) * each), shape=(rows, words))


def embeddings(words: int, dimensions: int = 100) -> wordferry.Embeddings:
    vectors = RNG.standard_normal((words, dimensions)).astype(np.float32)
    return wordferry.Embeddings([f"w{k}" for k in range(words)], vectors)


def _for_ever(work: Callable[[], object]) -> None:
    while True:
        work()


def ends_cancelled(work: Callable[[], object], wait: float = 0.3) -> None:
    """Run ``work`` again and again until it is cancelled, so that it is running whatever the machine's speed."""
    cancel = Cancel()
    said: list[float] = []

    def say() -> None:
        said.append(time.monotonic())
        cancel.cancel()

    timer = threading.Timer(wait, say)
    timer.start()
    with cancellable(cancel), pytest.raises(Cancelled):
        _for_ever(work)
    assert cancel.cancelled
    assert said
    assert time.monotonic() - said[0] < SOON


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("distance", "rows"),
    [
        ("wmd", 400),
        ("rel-wmd", 2000),
        ("act", 400),
        ("rwmd", 4000),
        ("rel-rwmd", 20000),
        ("cosine", 20000),
        ("wcd", 6000),
    ],
)
def test_pairwise(distance: str, rows: int, threads: int) -> None:
    emb = embeddings(3000)
    x = documents(rows, 3000, 60)
    related = wordferry.RelatedWords.build(emb, r=8) if distance.startswith("rel") else None
    ends_cancelled(lambda: wordferry.pairwise(x, x[:4000], distance, embeddings=emb, related=related, threads=threads))


@pytest.mark.parametrize("distance", ["wmd", "rel-rwmd", "rwmd", "wcd"])
def test_top_k(distance: str) -> None:
    emb = embeddings(3000)
    x = documents(3000, 3000, 60)
    related = wordferry.RelatedWords.build(emb, r=8) if distance.startswith("rel") else None
    ends_cancelled(
        lambda: wordferry.top_k(x[:500], x, 5, distance, embeddings=emb, related=related, threads=2), wait=0.5
    )


def test_a_graph() -> None:
    emb = embeddings(20000)
    ends_cancelled(lambda: wordferry.RelatedWords.build(emb, r=8, threads=2))


def test_one_pair_of_huge_documents() -> None:
    emb = embeddings(12000, 50)
    words = {k: 1 + k % 3 for k in range(6000)}, {k: 1 + k % 5 for k in range(6000, 12000)}
    ends_cancelled(lambda: passes.transport_pair(emb.matrix, *words), wait=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.5, 2, 4, 8, 16])
def test_one_problem_of_12000_words_a_side(wait: float) -> None:
    emb = embeddings(24000, 100)
    words = {k: 1 + k % 3 for k in range(12000)}, {k: 1 + k % 5 for k in range(12000, 24000)}
    ends_cancelled(lambda: passes.transport_pair(emb.matrix, *words), wait=wait)


def test_one_problem_in_exact_arithmetic() -> None:
    size = 500
    costs = np.exp2(RNG.uniform(-900, 900, (size, size)))
    ones = np.full(size, 7, np.int64)
    ends_cancelled(lambda: passes.transport_one(ones, ones, costs), wait=0.5)


def test_many_problems() -> None:
    costs = RNG.random((500, 60, 60))
    ones = np.ones((500, 60), np.int64)
    ends_cancelled(lambda: passes.transport_many(ones, ones, costs, 2))


def test_word_distances() -> None:
    vectors = RNG.standard_normal((20000, 300)).astype(np.float32)
    ends_cancelled(lambda: passes.distances_of(vectors[:6000], vectors, 2))


def test_small_kernels() -> None:
    values = RNG.random((3000, 3000)).astype(np.float32)
    ends_cancelled(lambda: passes.make_symmetric(values, 2))
    ends_cancelled(lambda: passes.transposed_max(values, values, 1))
    own = np.stack([np.roll(np.arange(50000, dtype=np.int32), -k) for k in range(1, 9)], axis=1)
    ends_cancelled(lambda: native.union_graph(np.ascontiguousarray(own), np.zeros(own.shape, np.float32)))
    heaps = passes.Nearest(3000, 10)
    ends_cancelled(lambda: heaps.offer(0, values, 0, None, 2))


def test_a_call_after_cancelling_does_not_begin() -> None:
    cancel = Cancel()
    cancel.cancel()
    values = np.zeros((2, 2), np.float32)
    with cancellable(cancel), pytest.raises(Cancelled, match="cancelled"):
        passes.make_symmetric(values, 1)
    passes.make_symmetric(values, 1)  # outside of the block nothing is cancelled


def test_blocks_nest_and_threads_have_their_own() -> None:
    outer, inner = Cancel(), Cancel()
    with cancellable(outer):
        outer.cancel()
        with cancellable(inner):
            check_cancelled()
        with pytest.raises(Cancelled):
            check_cancelled()
        seen: list[bool] = []

        def other() -> None:
            check_cancelled()
            seen.append(True)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert seen == [True]
    check_cancelled()
    assert not inner.cancelled
    assert issubclass(Cancelled, WordferryError)


def test_a_report_stops_a_loop_in_python() -> None:
    cancel = Cancel()
    report = Report(None, 10)
    with cancellable(cancel):
        report(1, 10)
        cancel.cancel()
        with pytest.raises(Cancelled):
            report(2, 10)
