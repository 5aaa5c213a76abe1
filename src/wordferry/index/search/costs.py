"""What moving words costs, for queries of an index: related words, found once for all the ways to search."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

import numpy as np

from wordferry.base.arrays import Float32Array, Int32Array, Int64Array
from wordferry.base.runtime import thread_count
from wordferry.index.storage.terms import TermVectors
from wordferry.kernels import native, passes
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_TOGETHER = 64
"""Words of a query that are compared with all words of an index at once."""
_KEPT_OUTSIDE = 4096
"""Words outside the index whose related words are remembered."""
Edges = tuple[Int32Array, Int32Array, Float32Array]
"""What the words of a query are related to: (position in the query, number of a word of the index, cost)."""


class WordCosts:
    """The words of an index that have vectors and the costs between them, ready for queries."""

    def __init__(self, embeddings: Embeddings, related: RelatedWords, terms: TermVectors) -> None:
        self._embeddings = embeddings
        self._related = related
        self._terms = terms
        self._mutex = Lock()
        self._outside: dict[int, tuple[Int32Array, Float32Array]] = {}
        self.c_max = related.c_max
        self._numbers = terms.numbers.astype(np.int32)
        self._place = np.full(len(embeddings), -1, dtype=np.int32)
        """The place of each vector among those of the index's words, or -1."""
        self._place[terms.rows] = np.arange(len(terms), dtype=np.int32)
        self._links = related.links

    def edges(self, vectors: Int64Array, most: float | None = None) -> Edges:
        """What some words, given by their vectors, are related to; no cost above ``most``, which is c_max by default.

        A search leaves little of NumPy in the cache of the processor, so each call of it costs several times as much
        as it does in a loop; these are as few as possible.
        """
        known = self._place.take(vectors)
        places = np.arange(len(vectors), dtype=np.int32)
        inside = places if known.min(initial=0) >= 0 else np.flatnonzero(known >= 0).astype(np.int32)
        degrees, far, costs = self._links.rows(known if inside is places else known[inside])
        near, far = np.repeat(inside, degrees), self._numbers.take(far)
        if inside is not places:
            outside = np.flatnonzero(known < 0).astype(np.int32)
            rows = self._outside_rows(vectors[outside].tolist())
            near = np.concatenate([near, np.repeat(outside, [len(some) for some, _ in rows])])
            far = np.concatenate([far, *(some for some, _ in rows)])
            costs = np.concatenate([costs, *(some for _, some in rows)])
        return near, far, np.minimum(costs, np.float32(self.c_max if most is None else most))

    def _outside_rows(self, vectors: list[int]) -> list[tuple[Int32Array, Float32Array]]:
        """What words outside the index are related to, and how far that is; each is compared with all words once."""
        with self._mutex:
            known = {word: row for word in vectors if (row := self._outside.get(word)) is not None}
        missing = [word for word in vectors if word not in known]
        if missing:
            matrix = self._embeddings.matrix
            joined = self._related.rows_among(
                matrix[missing], matrix, thread_count(None), self._terms.rows.astype(np.int32)
            )
            far, costs = self._numbers[joined.indices], joined.data.astype(np.float32)
            ends = joined.indptr.tolist()
            for word, span in zip(missing, map(slice, ends, ends[1:]), strict=False):
                known[word] = far[span].copy(), costs[span].copy()
            with self._mutex:
                self._outside |= {word: known[word] for word in missing}
                while len(self._outside) > _KEPT_OUTSIDE:
                    self._outside.pop(next(iter(self._outside)))
        return [known[word] for word in vectors]

    @cached_property
    def _vectors(self) -> Float32Array:
        """The vectors of the index's words; the related words were held to them when they were loaded."""
        return np.ascontiguousarray(self._embeddings.matrix[self._terms.rows])

    @cached_property
    def longest_vector(self) -> float:
        """The length of the longest vector of the index's words."""
        return float(np.linalg.norm(self._vectors, axis=1).max(initial=0))

    @cached_property
    def _squares(self) -> Float32Array:
        """The squared lengths of those vectors."""
        return passes.squares(self._vectors)

    def least_costs(self, vectors: Int64Array) -> Float32Array:
        """How far each word of the index is at least from the nearest of some words: 0 for these themselves.

        Words without a vector are at 0.
        """
        least = np.zeros(self._terms.size, dtype=np.float32)
        nearest = np.full(len(self._terms), np.inf, dtype=np.float32)
        error = np.float32(2 * native.product_error(self._embeddings.dimensions))
        for start in range(0, len(vectors), _TOGETHER):
            some = vectors[start : start + _TOGETHER]
            others = self._embeddings.matrix[np.resize(some, -(-len(some) // 16) * 16)]  # in sixteens: some come again
            squares = passes.squares(others)
            costs = np.empty((len(nearest), len(others)), dtype=np.float32)
            passes.word_distances(self._vectors, self._squares, others, squares, costs, 1)
            lowest = costs.min(axis=1) ** 2 - error * (self._squares + squares.max())
            np.minimum(nearest, lowest, out=nearest)
        least[self._terms.numbers] = np.sqrt(np.maximum(nearest, 0))
        own = self._place[vectors]
        least[self._terms.numbers[own[own >= 0]]] = 0
        return least

    @cached_property
    def reach(self) -> Float32Array:
        """The distance of each word to its own r-th neighbour: unrelated words are no nearer. 0 without a vector."""
        reach = np.zeros(self._terms.size, dtype=np.float32)
        reach[self._terms.numbers] = self._related.reach
        return reach
