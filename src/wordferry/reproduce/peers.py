"""Other libraries on the same documents, machine and threads: equality of values first, speed second."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import one_blas_thread
from wordferry.compare.calls import pairwise
from wordferry.reproduce.bench import Bench, Clock
from wordferry.reproduce.cells import SEED, Cell

QUERIES, DOCUMENTS = 20, 25


def run_peers(cell: Cell, bench: Bench) -> dict[str, Any]:
    """Exact wmd and cosine of a stated subsample by each installed library, one thread each."""
    split = bench.splits[cell.split]
    rng = np.random.default_rng(SEED)
    queries = bench.counts[np.sort(rng.permutation(split.test)[:QUERIES])]
    documents = bench.counts[np.sort(rng.permutation(split.train)[:DOCUMENTS])]
    with one_blas_thread():
        rows = _compare(bench, queries, documents)
    sample = f"{queries.shape[0]} test x {documents.shape[0]} training documents of {bench.name}, seed {SEED}, 1 thread"
    return {**cell.to_json(), "sample": sample, "rows": rows}


def _compare(bench: Bench, queries: sp.csr_array, documents: sp.csr_array) -> list[dict[str, Any]]:
    rows = []
    for distance, peers in (("wmd", (("gensim", _gensim), ("POT", _pot))), ("cosine", (("sklearn", _sklearn),))):
        ours, clock = _ours(bench, queries, documents, distance)
        rows.append(_row("wordferry", distance, clock, ours, ours))
        for library, function in peers:
            if importlib.util.find_spec({"POT": "ot"}.get(library, library)) is None:
                rows.append({"library": library, "distance": distance, "installed": False})
                continue
            values, peer_clock = function(bench, queries, documents)
            rows.append(_row(library, distance, peer_clock, values, ours))
    return rows


def _row(library: str, distance: str, clock: Clock, values: Any, ours: Any) -> dict[str, Any]:
    return {
        "library": library,
        "distance": distance,
        "installed": True,
        "microseconds_a_pair": round(1e6 * clock.wall["distances"] / ours.size, 2),
        "largest_difference": float(np.abs(values - ours).max()),
    }


def _ours(bench: Bench, queries: Any, documents: Any, distance: str) -> tuple[Any, Clock]:
    clock = Clock()
    pairwise(queries[:1], documents[:1], distance, embeddings=bench.embeddings, threads=1)
    with clock.step("distances"):
        values = pairwise(queries, documents, distance, embeddings=bench.embeddings, threads=1)
    return values, clock


def _texts(matrix: sp.csr_array, words: Any) -> list[list[str]]:
    result = []
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        pairs = zip(matrix.indices[start:stop], matrix.data[start:stop], strict=True)
        result.append([words[int(i)] for i, count in pairs for _ in range(int(count))])
    return result


def _gensim(bench: Bench, queries: Any, documents: Any) -> tuple[Any, Clock]:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(bench.embeddings.dimensions)
    vectors.add_vectors(list(bench.embeddings.vocabulary), bench.embeddings.matrix)
    vectors.fill_norms()
    first, second = (_texts(m, bench.embeddings.vocabulary) for m in (queries, documents))
    return _timed(lambda i, j: vectors.wmdistance(first[i], second[j]), len(first), len(second))


def _pot(bench: Bench, queries: Any, documents: Any) -> tuple[Any, Clock]:
    import ot

    def value(i: int, j: int) -> float:
        a, b = queries[[i]], documents[[j]]
        x, y = bench.embeddings.matrix[a.indices], bench.embeddings.matrix[b.indices]
        costs = ot.dist(x.astype(np.float64), y.astype(np.float64), metric="euclidean")
        return float(ot.emd2(a.data / a.data.sum(), b.data / b.data.sum(), costs))

    return _timed(value, queries.shape[0], documents.shape[0])


def _sklearn(bench: Bench, queries: Any, documents: Any) -> tuple[Any, Clock]:
    from sklearn.metrics.pairwise import cosine_distances

    clock = Clock()
    cosine_distances(queries[:1], documents[:1])
    with clock.step("distances"):
        values = cosine_distances(queries, documents)
    return values, clock


def _timed(value: Callable[[int, int], float], rows: int, columns: int) -> tuple[Any, Clock]:
    clock = Clock()
    value(0, 0)
    with clock.step("distances"):
        values = np.array([[value(i, j) for j in range(columns)] for i in range(rows)])
    return values, clock
