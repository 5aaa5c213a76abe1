"""How soon the longest native loops hear that they are cancelled: 0.2 s of their threads' time, at the most.

Time is that of the processor, divided by the threads that work, so that a machine that is busy with other things does
not make the loops look slow. Each call takes far longer than that by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import wordferry
from wordferry import _native
from wordferry.base.runtime import Cancel, cancellable, check_cancelled
from wordferry.errors import Cancelled
from wordferry.kernels import lists, native, passes
from wordferry.kernels import words as word_kernels

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SOON = 0.2
Work = Callable[[], object]


def _for_ever(work: Work) -> None:
    while True:
        work()
        check_cancelled()


def late(work: Work, wait: float, threads: int) -> tuple[float, float]:
    """Seconds of processor time and of the clock that work goes on after it was cancelled."""
    cancel, said = Cancel(), [0.0, 0.0]

    def say() -> None:
        said[:] = time.process_time(), time.perf_counter()
        cancel.cancel()

    timer = threading.Timer(wait, say)
    timer.start()
    with cancellable(cancel), pytest.raises(Cancelled):
        _for_ever(work)
    return (time.process_time() - said[0]) / threads, time.perf_counter() - said[1]


def heard(name: str, work: Work, threads: int = 1, waits: tuple[float, ...] = (0.2, 0.5, 1, 1.7, 2.6)) -> None:
    work_time, clock = zip(*(late(work, wait, threads) for wait in waits), strict=True)
    print(f"{name}: {max(work_time):.3f} s of work, {max(clock):.3f} s by the clock")
    assert max(work_time) < SOON


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def vectors(words: int, dimensions: int) -> Any:
    return rng().standard_normal((words, dimensions)).astype(np.float32)


def embeddings(words: int, dimensions: int = 100) -> wordferry.Embeddings:
    return wordferry.Embeddings([f"w{k}" for k in range(words)], vectors(words, dimensions))


def documents(rows: int, words: int, each: int) -> csr_array:
    made = np.sort(rng().integers(0, words - each, (rows, each)), axis=1) + np.arange(each)
    return csr_array((np.ones(rows * each), made.ravel(), np.arange(rows + 1) * each), shape=(rows, words))


def test_wmd_of_12000_words_a_side() -> None:
    matrix = vectors(24_000, 100)
    words = {k: 1 + k % 3 for k in range(12_000)}, {k: 1 + k % 5 for k in range(12_000, 24_000)}
    work = lambda: passes.transport_pair(matrix, *words)  # noqa: E731
    heard("one wmd, 12,000 x 12,000 words", work, waits=(0.5, 2, 5, 9, 14, 20))


def test_one_long_text_against_long_documents() -> None:
    emb = embeddings(12_000)
    x, y = documents(1, 12_000, 8_000), documents(40, 12_000, 3_000)
    heard("wmd, 8,000 words x 40 documents", lambda: wordferry.pairwise(x, y, "wmd", embeddings=emb, threads=1))


def test_an_exact_solve() -> None:
    costs = np.exp2(rng().uniform(-900, 900, (700, 700)))
    masses = np.full(700, 7, np.int64)
    heard("exact arithmetic, 700 x 700", lambda: passes.transport_one(masses, masses, costs))


@pytest.mark.parametrize("method", ["exact", "clusters"])
def test_a_graph_of_related_words(method: str) -> None:
    emb = embeddings(60_000, 200)
    heard(
        f"graph of 60,000 words, {method}",
        lambda: wordferry.RelatedWords.build(emb, r=16, method=method, threads=2),
        threads=2,
        waits=(0.3, 1, 2, 4, 7),
    )


def test_the_union_of_a_graph() -> None:
    own = np.stack([np.roll(np.arange(1_000_000, dtype=np.int32), -k) for k in range(1, 17)], axis=1)
    own, far = np.ascontiguousarray(own), np.zeros(own.shape, np.float32)
    heard("union of 16 million edges", lambda: native.union_graph(own, far))


@pytest.mark.parametrize("distance", ["rel-rwmd", "wmd", "rwmd", "wcd", "cosine"])
def test_a_graph_of_documents(distance: str) -> None:
    emb = embeddings(8_000)
    x = documents(20_000, 8_000, 50)
    related = wordferry.RelatedWords.build(emb, r=16) if distance.startswith("rel") else None
    heard(
        f"10 nearest of 20,000 documents, {distance}",
        lambda: wordferry.top_k(x, x, 10, distance, embeddings=emb, related=related, threads=2),
        threads=2,
    )


def bags(rows: int = 1_000_000, each: int = 40, words: int = 50_000) -> tuple[Any, Any, Any]:
    """A million documents of forty words."""
    ids = np.sort(rng().integers(0, words - each, (rows, each), dtype=np.int32), axis=1) + np.arange(each, dtype="i4")
    return np.arange(rows + 1, dtype=np.int64) * each, ids.ravel(), np.ones(rows * each, np.int32)


def test_stored_lists() -> None:
    rows = bags()
    rows = (*rows[:2], rows[2].astype(np.uint8))
    heard("40 million words into posting lists", lambda: lists.build(*rows))
    made = lists.build(*rows)
    heard("posting lists checked", lambda: lists.PostingLists(**vars(made)).view)
    some = np.arange(0, 50_000, 3, dtype=np.int32)
    ones = np.ones(len(some), np.float32)
    touched = lists.Touched(some, ones, ones, np.zeros(len(some), np.float32))
    lengths = np.full(1_000_000, 40, np.float32)
    for threads in (1, 2):
        heard(
            f"bounds by lists, {threads} threads",
            lambda threads=threads: lists.bounds(made.view, *touched, lengths, lists.COUNTS, 1.0, threads),  # type: ignore[misc]
            threads=threads,
        )
    stored = lists.StoredDocuments(made.view, *rows)
    heard("sums of documents", lambda: stored.sums(np.ones(50_000), False, lists.COUNTS, 1))
    starts, every = np.arange(0, 50_001, 2), np.arange(50_000, dtype=np.int32)
    heard("frequencies of stems", lambda: word_kernels.stem_frequencies(made.view, starts, every))
    heard("lengths of documents", lambda: word_kernels.WordDocuments(stored, lengths))
    ready = [word_kernels.WordDocuments(stored, lengths)]
    numbers, ones = np.arange(len(some), dtype=np.int32), np.ones(len(some))
    query = word_kernels.FormQuery(numbers, some, ones.astype("u1"), ones, 0.5, 1.0, 0.1)
    heard("word search in posting lists", lambda: word_kernels.best(ready, query, None, 10))
    heard("all of them", lambda: word_kernels.best(ready, query, None, 1_000_000))


def test_panels_of_queries() -> None:
    rows = bags()
    stored = lists.StoredDocuments(lists.build(*rows).view, *rows)
    sums = np.full(1_000_000, 40.0)
    nothing = np.zeros(0, np.float32)
    documents = [lists.WeighedDocuments(stored, sums.astype(np.float32), sums, nothing, 40.0, lists.COUNTS)]
    weights = _native.WordWeights(np.ones(50_000))
    own = np.arange(0, 50_000, 25, dtype=np.int32)
    none = np.zeros(0, np.int32)
    masses = np.full(len(own), 1 / len(own), np.float32)
    query = _native.ListQuery(own, masses, none, none, nothing, 1.0, _native.Overlap.omr, 50_000)
    queries = [query] * lists.PANEL
    for panel in (queries[:1], queries):
        heard(
            f"{len(panel)} queries of 2,000 words through posting lists",
            lambda panel=panel: lists.nearest(panel, (documents, weights), None, 1e-5, 10, 1),  # type: ignore[misc]
        )


def test_neighbours_among_many() -> None:
    indptr, words, counts = bags(6_000, 60, 3_000)
    weight = np.ones(len(words))
    heard(
        "6,000 documents compared by stems", lambda: word_kernels.nearest_among(indptr, words, counts, weight, 3_000, 5)
    )


def test_a_search_in_an_index(tmp_path: Path) -> None:
    """All that a search does, loops in Python included."""
    emb = embeddings(4_000, 50)
    texts = [" ".join(f"w{k}" for k in row) for row in rng().integers(0, 4_000, (30_000, 30)).tolist()]
    query = " ".join(f"w{k}" for k in range(0, 4_000, 2))
    with wordferry.Index.create(tmp_path / "index", embeddings=emb) as index:
        index.add(texts)
        for distance in ("rel-rwmd", "wmd"):
            index.similar("w1 w2", distance=distance)
            heard(
                f"index of 30,000 documents, {distance}, 2,000 words",
                lambda distance=distance: index.similar([query] * 20, 10, distance=distance, threads=1),  # type: ignore[misc]
            )
        heard("index of 30,000 documents, words", lambda: index.search([query] * 20, 10))


def test_words_counted() -> None:
    emb = embeddings(5_000, 8)
    texts = [" ".join(f"w{k}" for k in row) for row in rng().integers(0, 9_000, (60_000, 40)).tolist()]
    heard("60,000 texts counted", lambda: wordferry.encode(texts, emb, on_empty="keep"))
