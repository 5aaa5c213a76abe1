"""The words in play: their vectors, and the related-word costs between them, under compact ids."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.arrays import Csr, Float32Array, Int32Array, Int64Array
from wordferry.embeddings import Embeddings
from wordferry.errors import InputError, VocabularyMismatch
from wordferry.related import RelatedWords

_CACHE_SIZE = 8
_cache: OrderedDict[tuple[str, bytes, int], RelatedWords] = OrderedDict()
_cache_lock = threading.Lock()
_CHECKED_EDGES = 64
_EDGE_TOLERANCE = 1e-2


def related_over(embeddings: Embeddings, words: Int64Array, r: int) -> RelatedWords:
    """The related words of some of the embeddings' words; the last few graphs of the process are kept and reused."""
    key = (embeddings.fingerprint, words.tobytes(), r)
    with _cache_lock:
        found = _cache.get(key)
        if found is not None:
            _cache.move_to_end(key)
            return found
    related = RelatedWords.build(embeddings.restrict(words), r)
    with _cache_lock:
        _cache[key] = related
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return related


def clear_cache() -> None:
    """Forget the graphs that were built for calls without ``related=``."""
    with _cache_lock:
        _cache.clear()


@dataclass(frozen=True)
class Frame:
    """Compact ids 0 .. m-1 for the words in play, with what the distance needs to know of them."""

    embeddings: Embeddings | None
    related: RelatedWords | None
    words: Int64Array
    """The id in the embeddings' vocabulary (the column of the matrix) of each compact id."""
    columns: Int32Array
    """The compact id of each column, -1 for words not in play."""
    vectors: Float32Array | None = None
    graph: Csr | None = None
    """Costs of related words, clamped at c_max: symmetric, sorted, float32."""
    c_max: float = float("nan")
    """The cost of two unrelated words. Where every pair is related it is never paid, and is the largest cost."""

    @classmethod
    def build(
        cls,
        words: Int64Array,
        columns: int,
        embeddings: Embeddings | None,
        related: RelatedWords | None,
        *,
        vectors: bool,
    ) -> Frame:
        """A frame over ``words`` (sorted column numbers)."""
        lookup = np.full(columns, -1, dtype=np.int32)
        lookup[words] = np.arange(len(words), dtype=np.int32)
        frame = cls(embeddings, related, words, lookup)
        if vectors and embeddings is not None:
            frame = replace(frame, vectors=np.ascontiguousarray(embeddings.matrix[words]))
        if related is not None:
            graph, c_max = costs_over(related, _required(embeddings), words)
            frame = replace(frame, graph=graph, c_max=c_max)
        return frame

    def extended(self, words: Int64Array) -> Frame:
        """A frame that also has ``words``; ids that exist do not change."""
        new = words[self.columns[words] < 0]
        if not len(new):
            return self
        everything = np.concatenate([self.words, new])
        lookup = self.columns.copy()
        lookup[new] = np.arange(len(self.words), len(everything), dtype=np.int32)
        frame = replace(self, words=everything, columns=lookup)
        if self.vectors is not None:
            added = _required(self.embeddings).matrix[new]
            frame = replace(frame, vectors=np.concatenate([self.vectors, added]))
        if self.related is not None:
            graph, c_max = costs_over(self.related, _required(self.embeddings), everything)
            frame = replace(frame, graph=graph, c_max=c_max)
        return frame


def _required(embeddings: Embeddings | None) -> Embeddings:
    if embeddings is None:
        raise InputError("This distance needs word vectors: pass embeddings=.")
    return embeddings


def costs_over(related: RelatedWords, embeddings: Embeddings, words: Int64Array) -> tuple[Csr, float]:
    """Related-word costs between ``words`` (ids in ``embeddings``), clamped at c_max, and c_max.

    Words are matched by spelling. A word that ``related`` does not know is joined to it by
    :meth:`RelatedWords.rows_for` and stays unrelated to other such words.
    """
    if np.isnan(related.c_max):
        return _complete_costs(embeddings.matrix[words])
    ids = _related_ids(related, embeddings, words)
    inside, outside = np.flatnonzero(ids >= 0), np.flatnonzero(ids < 0)
    place = np.full(len(related.vocabulary), -1, dtype=np.int64)
    place[ids[inside]] = inside
    rows, columns, costs = _edges(related.graph, ids[inside], place, inside)
    _check_same_vectors(embeddings, words, rows, columns, costs)
    if len(outside):
        known = _vectors_of(related, embeddings)
        joined: Any = related
        more = sp.csr_array(joined.rows_for(embeddings.matrix[words[outside]], known))
        r2, c2, v2 = _edges(more, np.arange(len(outside)), place, outside)
        rows, columns = np.concatenate([rows, r2, c2]), np.concatenate([columns, c2, r2])
        costs = np.concatenate([costs, v2, v2])
    return _csr(rows, columns, np.minimum(costs, np.float32(related.c_max)), len(words)), float(related.c_max)


def _related_ids(related: RelatedWords, embeddings: Embeddings, words: Int64Array) -> Int64Array:
    if related.vocabulary is embeddings.vocabulary or related.fingerprint == embeddings.fingerprint:
        return words
    vocabulary = embeddings.vocabulary
    ids = related.vocabulary.ids(vocabulary[i] for i in words.tolist())
    if len(words) and not (ids >= 0).any():
        raise VocabularyMismatch(
            "None of the documents' words is in the vocabulary of related=. "
            "Build it from the same embeddings: RelatedWords.build(embeddings)."
        )
    return ids


def _edges(graph: Any, rows: Int64Array, place: Int64Array, names: Int64Array) -> tuple[Any, Any, Any]:
    """Edges of some rows of a graph whose far end is in play: (row's name, place of the far end, distance)."""
    part = graph[rows]
    far = place[part.indices]
    near = np.repeat(names, np.diff(part.indptr))
    keep = far >= 0
    return near[keep], far[keep], part.data[keep].astype(np.float32)


def _vectors_of(related: RelatedWords, embeddings: Embeddings) -> Embeddings:
    """The embeddings of exactly the words of ``related``, in its order."""
    if related.vocabulary is embeddings.vocabulary or related.fingerprint == embeddings.fingerprint:
        return embeddings
    ids = embeddings.vocabulary.ids(related.vocabulary)
    if (ids < 0).any():
        word = related.vocabulary[int(np.flatnonzero(ids < 0)[0])]
        raise VocabularyMismatch(
            f"Some documents' words are outside related=, and its word {word!r} has no vector in embeddings=, so the "
            "nearest words cannot be found. Pass the embeddings that related= was built from, or a superset."
        )
    return embeddings.restrict(ids)


def _check_same_vectors(embeddings: Embeddings, words: Int64Array, rows: Any, columns: Any, costs: Any) -> None:
    """Refuse a graph that was built from other vectors: a few of its distances are compared."""
    if not len(rows):
        return
    some = np.linspace(0, len(rows) - 1, min(_CHECKED_EDGES, len(rows))).astype(np.int64)
    x = embeddings.matrix
    true = np.linalg.norm(x[words[rows[some]]].astype(np.float64) - x[words[columns[some]]], axis=1)
    scale = max(float(true.max()), float(costs[some].max()))
    if np.abs(true - costs[some]).max() > _EDGE_TOLERANCE * scale:
        raise VocabularyMismatch(
            "related= was built from other vectors than embeddings= (same words, other distances). "
            "Build it again: RelatedWords.build(embeddings)."
        )


def _complete_costs(x: Float32Array) -> tuple[Csr, float]:
    """Every pair related: the graph of all true distances (r >= n - 1, so n is small)."""
    n = len(x)
    distances = np.empty((n, n), dtype=np.float32)
    for i in range(n):
        distances[i] = np.sqrt(((x.astype(np.float64) - x[i]) ** 2).sum(axis=1))
    rows, columns = np.nonzero(~np.eye(n, dtype=bool))
    return _csr(rows, columns, distances[rows, columns], n), float(distances.max(initial=0.0))


def _csr(rows: Any, columns: Any, values: Any, n: int) -> Csr:
    """A canonical Csr of distinct edges; explicit zeros (words with equal vectors) stay."""
    order = np.lexsort((columns, rows))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return Csr(indptr, columns[order].astype(np.int32), values[order].astype(np.float32), (n, n))
