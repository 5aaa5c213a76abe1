"""Queries of an index by its words: what each word is related to, found once for all the ways to search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Int32Array, Int64Array, distinct
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import thread_count
from wordferry.index.bounded import row_means
from wordferry.index.snapshot import Part
from wordferry.kernels import native, passes
from wordferry.kernels import related_lists as lists
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_KEPT_REACHES = 64
_TOGETHER = 64
"""Words of a query that are compared with all words of an index at once."""
_KEPT_OUTSIDE = 4096
"""Words outside the index whose related words are remembered."""
Edges = tuple[Int32Array, Int32Array, Float32Array]
"""What the words of a query are related to: (position in the query, word of the index, cost)."""


@dataclass(frozen=True)
class Query:
    """One query against the words of an index: its words, which rise, and what they relate to."""

    index: Words
    ids: Int64Array
    masses: Float32Array
    edges: Edges
    overlap: str

    @property
    def c_max(self) -> float:
        return self.index.c_max

    @cached_property
    def listed(self) -> lists.ListQuery:
        """As the lists take it; not for residual."""
        size = self.index.columns
        return lists.ListQuery(self.ids.astype(np.int32), self.masses, self.edges, self.c_max, self.overlap, size)

    @cached_property
    def touched(self) -> lists.Touched:
        """The words that the query has or is related to."""
        _, far, costs = self.edges
        words = distinct(np.concatenate([self.ids, far]))
        c_max = np.float32(self.c_max)
        near = np.full(len(words), c_max, dtype=np.float32)
        np.minimum.at(near, np.searchsorted(words, far), costs)
        common = np.zeros(len(words), dtype=np.float32)
        own = np.searchsorted(words, self.ids)
        if self.overlap == "keep":
            near[own] = 0
        else:
            common[own] = self.masses
        return lists.Touched(words.astype(np.int32), near, c_max - near, common)

    @cached_property
    def place(self) -> Int32Array:
        """The number of each word of the vocabulary among those in play, or -1."""
        inside = self.index.place
        outside = self.ids[inside[self.ids] < 0]
        place = inside.copy()
        place[outside] = np.arange(self.index.size, self.index.size + len(outside), dtype=np.int32)
        return place

    @cached_property
    def views(self) -> tuple[passes.View, passes.View, int]:
        """The query and the graph as far as it needs it, and how many words are in play."""
        near, far, costs = self.edges
        rows = self.place[self.ids]
        size = self.index.size + int(np.count_nonzero(rows >= self.index.size))
        x = Csr(np.array([0, len(rows)]), rows.astype(np.int32), self.masses, (1, size))
        return passes.view(x), passes.view(_links(rows[near], self.place[far], costs, size)), size


class Words:
    """The words of an index and the costs between them, ready for queries."""

    def __init__(self, embeddings: Embeddings, related: RelatedWords, words: Int64Array) -> None:
        self._embeddings = embeddings
        self._related = related
        self._words = words
        self._mutex = Lock()
        self._outside: dict[int, tuple[Int32Array, Float32Array]] = {}
        self._reaches: dict[tuple[Any, ...], Float32Array] = {}
        self.size, self.columns = len(words), len(embeddings)
        """How many words the index has, and the vocabulary."""
        self.c_max = related.c_max
        self._ids = words.astype(np.int32)
        self._row = np.full(len(embeddings), -1, dtype=np.int32)
        """The number of each word of the vocabulary among those of the index, or -1."""
        self._row[words] = np.arange(len(words), dtype=np.int32)
        self._links = related.links

    @cached_property
    def place(self) -> Int32Array:
        """The number of each word of the vocabulary among those of the index by rising id, or -1."""
        place = np.full(len(self._embeddings), -1, dtype=np.int32)
        place[np.sort(self._words)] = np.arange(len(self._words), dtype=np.int32)
        return place

    def query(self, ids: Int64Array, masses: Float32Array, overlap: str) -> Query:
        """A query of these words, which rise."""
        return Query(self, ids, masses, self.edges(ids), overlap)

    def edges(self, ids: Int64Array) -> Edges:
        """What some words are related to: (position among them, word of the index, cost), no cost above c_max."""
        return self._edges(ids, self.c_max)

    def _edges(self, ids: Int64Array, most: float) -> Edges:
        """The same with another limit of the costs.

        A search leaves little of NumPy in the cache of the processor, so each call of it costs several times as much
        as it does in a loop; these are as few as possible.
        """
        known = self._row.take(ids)
        places = np.arange(len(ids), dtype=np.int32)
        inside = places if known.min(initial=0) >= 0 else np.flatnonzero(known >= 0).astype(np.int32)
        degrees, far, costs = self._links.rows(known if inside is places else known[inside])
        near, far = np.repeat(inside, degrees), self._ids.take(far)
        if inside is not places:
            outside = np.flatnonzero(known < 0).astype(np.int32)
            rows = self._outside_rows(ids[outside].tolist())
            near = np.concatenate([near, np.repeat(outside, [len(some) for some, _ in rows])])
            far = np.concatenate([far, *(some for some, _ in rows)])
            costs = np.concatenate([costs, *(some for _, some in rows)])
        return near, far, np.minimum(costs, np.float32(most))

    def _outside_rows(self, ids: list[int]) -> list[tuple[Int32Array, Float32Array]]:
        """What words outside the index are related to, and how far that is; each is compared with all words once."""
        with self._mutex:
            known = {word: row for word in ids if (row := self._outside.get(word)) is not None}
        missing = [word for word in ids if word not in known]
        if missing:
            matrix = self._embeddings.matrix
            joined = self._related.rows_among(matrix[missing], matrix, thread_count(None), self._ids)
            far, costs = self._words[joined.indices].astype(np.int32), joined.data.astype(np.float32)
            ends = joined.indptr.tolist()
            for word, span in zip(missing, map(slice, ends, ends[1:]), strict=False):
                known[word] = far[span].copy(), costs[span].copy()
            with self._mutex:
                self._outside |= {word: known[word] for word in missing}
                while len(self._outside) > _KEPT_OUTSIDE:
                    self._outside.pop(next(iter(self._outside)))
        return [known[word] for word in ids]

    @cached_property
    def _vectors(self) -> Float32Array:
        """The vectors of the index's words; the related words were held to them when they were loaded."""
        return np.ascontiguousarray(self._embeddings.matrix[self._words])

    @cached_property
    def longest_vector(self) -> float:
        """The length of the longest vector of the index's words."""
        return float(np.linalg.norm(self._vectors, axis=1).max(initial=0))

    @cached_property
    def _squares(self) -> Float32Array:
        """The squared lengths of those vectors."""
        return passes.squares(self._vectors)

    def least_costs(self, ids: Int64Array) -> Float32Array:
        """How far each word of the index is at least from the nearest of some words: 0 for these themselves."""
        if not len(ids):
            return np.full(len(self._embeddings), np.inf, dtype=np.float32)
        nearest = np.full(len(self._words), np.inf, dtype=np.float32)
        error = np.float32(2 * native.product_error(self._embeddings.dimensions))
        for start in range(0, len(ids), _TOGETHER):
            some = ids[start : start + _TOGETHER]
            others = self._embeddings.matrix[np.resize(some, -(-len(some) // 16) * 16)]  # in sixteens: some come again
            squares = passes.squares(others)
            costs = np.empty((len(nearest), len(others)), dtype=np.float32)
            passes.word_distances(self._vectors, self._squares, others, squares, costs, 1)
            lowest = costs.min(axis=1) ** 2 - error * (self._squares + squares.max())
            np.minimum(nearest, lowest, out=nearest)
        least = np.zeros(len(self._embeddings), dtype=np.float32)
        least[self._words] = np.sqrt(np.maximum(nearest, 0))
        least[ids] = 0
        return least

    @cached_property
    def reach(self) -> Float32Array:
        """The distance of each word to its own r-th neighbour: unrelated words are no nearer."""
        reach = np.zeros(len(self._embeddings), dtype=np.float32)
        reach[self._words] = self._related.reach
        return reach

    def reach_of(self, part: Part) -> Float32Array:
        """The mean reach of the words of each document of a part: what it costs to move it to unrelated words."""
        found = self._reaches.get(part.key)
        if found is None:
            found = self._reaches[part.key] = row_means(part, part.rows.totals, self.reach.astype(np.float64))
            while len(self._reaches) > _KEPT_REACHES:
                self._reaches.pop(next(iter(self._reaches)))
        return found

    def true_costs(self, ids: Int64Array, masses: Float32Array, overlap: str, most: float = np.inf) -> lists.Touched:
        """The touched words with what they cost at least by true distances, against their reach; no more than ``most``.

        That is what words cost onto words without a vector.
        """
        _, far, costs = self._edges(ids, np.inf)
        words = distinct(np.concatenate([ids[self._row[ids] >= 0], far]))
        reach = np.minimum(self.reach[words], np.float32(most))
        near = reach.copy()
        np.minimum.at(near, np.searchsorted(words, far), costs)
        common = np.zeros(len(words), dtype=np.float32)
        inside = self._row[ids] >= 0
        own = np.searchsorted(words, ids[inside])
        if overlap == "keep":
            near[own] = 0
        else:
            common[own] = masses[inside]
        return lists.Touched(words.astype(np.int32), near, reach - near, common)


def _links(rows: Int32Array, columns: Int32Array, costs: Float32Array, size: int) -> Csr:
    """The graph as far as a query needs it: from its own words, and back, as documents are walked."""
    rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    costs = np.concatenate([costs, costs])
    _, first = np.unique(rows.astype(np.int64) * size + columns, return_index=True)
    rows, columns, costs = rows[first], columns[first], costs[first]
    graph = sp.csr_array((costs, (rows, columns)), shape=(size, size), dtype=np.float32)
    graph.sort_indices()
    return Csr(graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data, (size, size))
