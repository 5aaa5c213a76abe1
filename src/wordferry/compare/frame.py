"""The words in play: their vectors, and the related-word costs between them, under compact ids."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wordferry.base.arrays import BoolArray, Csr, Float32Array, Int32Array, Int64Array, entries_of
from wordferry.base.lazy import sparse as sp
from wordferry.errors import VocabularyMismatch
from wordferry.kernels import passes
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.typical import typical_distance
from wordferry.words.vocabulary import Vocabulary

_CHECKED_EDGES = 64
_EDGE_TOLERANCE = 1e-2
_FEW_EDGES = 2000
"""Below this, sorting the edges of a few documents costs less than making SciPy's objects."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Compact ids 0 .. m-1 for the words in play, with what the distance needs to know of them, made when asked for."""

    embeddings: Embeddings | None
    related: RelatedWords | None
    words: Int64Array
    """The id in the embeddings' vocabulary (the column of the matrix) of each compact id."""
    columns: Int32Array
    """The compact id of each column, -1 for words not in play."""
    graph: Csr | None = None
    """Costs of related words, clamped at c_max: symmetric, sorted, float32."""
    squared: bool = False
    """True when costs are half the squares of distances, which of vectors of length 1 is 1 less their cosine."""
    c_max: float = float("nan")
    """The cost of two unrelated words, and of a word without a vector; NaN where neither is known. Where every pair is
    related it is never paid, and is the largest cost."""
    base: Frame | None = None
    """The frame that this one extends."""

    vocabulary: Vocabulary | OpenVocabulary | None = None
    """What the columns are called; None where only numbers are known."""

    @classmethod
    def build(
        cls,
        words: Int64Array,
        columns: int,
        embeddings: Embeddings | None,
        related: RelatedWords | None,
        vocabulary: Vocabulary | OpenVocabulary | None = None,
    ) -> Frame:
        """A frame over ``words`` (sorted column numbers; those behind the embeddings' words have no vector)."""
        lookup = np.full(columns, -1, dtype=np.int32)
        lookup[words] = np.arange(len(words), dtype=np.int32)
        frame = cls(embeddings, related, words, lookup, vocabulary=vocabulary)
        if related is not None and embeddings is not None:
            graph, c_max = costs_over(related, embeddings, words[frame.known])
            frame = replace(frame, graph=_spread(graph, frame.known, len(words)), c_max=frame._far(c_max))
        return frame

    @cached_property
    def known(self) -> Int64Array:
        """The compact ids of the words that have a vector."""
        return np.arange(len(self.words)) if self.unknown is None else np.flatnonzero(~self.unknown)

    @cached_property
    def unknown(self) -> BoolArray | None:
        """Which words have no vector; None when all have one."""
        if self.embeddings is None:
            return None
        result: BoolArray = self.words >= len(self.embeddings.vocabulary)
        return result if result.any() else None

    @cached_property
    def far(self) -> float:
        """What a word without a vector costs onto every other word: c_max."""
        if not np.isnan(self.c_max):
            return self.c_max
        assert self.embeddings is not None
        distance = typical_distance(self.embeddings)
        return distance**2 / 2 if self.squared else distance

    def _far(self, c_max: float) -> float:
        """c_max of a graph; where words without a vector meet one that leaves it open, that of the vocabulary."""
        if self.unknown is None or self.embeddings is None:
            return c_max
        settled = self.related is not None and np.isfinite(self.related.c_max)
        return c_max if settled else max(c_max, typical_distance(self.embeddings))

    @cached_property
    def without_graph(self) -> Frame:
        """A frame of these words without their graph, for a distance of a blend that uses none."""
        return replace(self, graph=None, related=None)

    def priced(self, cost: str) -> Frame:
        """A frame of these words with a cost of :class:`MoverDistance`; cosine costs are made of Euclidean ones.

        c_max becomes the cosine distance of two words at the mean distance. It is below the mean cosine distance by
        half the variance of the distances (0.004 of 0.976 in the default vectors), and the order of costs stays.
        """
        return self if cost == "euclidean" or self.squared else self._with_cosines

    @cached_property
    def _with_cosines(self) -> Frame:
        graph = None if self.graph is None else replace(self.graph, data=self.graph.data**2 / 2)
        return replace(self, graph=graph, c_max=self.c_max**2 / 2, squared=True)

    def price(self, distances: Any) -> Any:
        """The costs of words at these distances, in place of them."""
        if self.squared:
            distances *= distances
            distances *= np.float32(0.5)
        return distances

    def name(self, word: int) -> str:
        """What a word is called, by its compact id."""
        return self.names([int(self.words[word])])[0]

    def names(self, numbers: list[int] | None = None) -> list[str]:
        """What all words are called, in the order of their compact ids; or those with some numbers."""
        numbers = self.words.tolist() if numbers is None else numbers
        words = (
            self.vocabulary if self.embeddings is None or self.vocabulary is not None else self.embeddings.vocabulary
        )
        if words is None:
            return list(map(str, numbers))
        if not isinstance(words, OpenVocabulary):
            return [words[number] for number in numbers]
        closed, extra, size = words.closed, words.extra, len(words.closed)
        return [closed[number] if number < size else extra[number - size] for number in numbers]

    @cached_property
    def vectors(self) -> Float32Array:
        """The vectors of all words in play. Where some will do, :meth:`vectors_of` copies less."""
        return self.vectors_of(np.arange(len(self.words)))

    def vectors_of(self, ids: Int64Array | Int32Array) -> Float32Array:
        """The vectors of some compact ids, as a contiguous array; zeros for words without one."""
        assert self.embeddings is not None  # a distance that needs vectors is given some
        matrix, words = self.embeddings.matrix, self.words[ids]
        if self.unknown is None:
            return np.ascontiguousarray(matrix[words])
        known = words < len(matrix)
        found = np.zeros((len(words), matrix.shape[1]), dtype=np.float32)
        found[known] = matrix[words[known]]
        return found

    @cached_property
    def largest_cost(self) -> float:
        """No word in play costs more onto another: twice the length of the longest vector, or c_max of a graph."""
        if self.graph is not None:
            return self.c_max
        start, known = (0, 0.0) if self.base is None else (len(self.base.words), self.base.largest_cost)
        some = self.vectors_of(np.arange(start, len(self.words)))
        squares = np.einsum("ij,ij->i", some, some, dtype=np.float64)
        least = 0.0 if self.unknown is None else self.far
        return max(known, least, 2 * float(np.sqrt(squares.max(initial=0.0))))

    @cached_property
    def view(self) -> passes.View:
        """The graph as kernels take it, checked once."""
        assert self.graph is not None
        return passes.view(self.graph)

    def extended(
        self, words: Int64Array, columns: int = 0, vocabulary: Vocabulary | OpenVocabulary | None = None
    ) -> Frame:
        """A frame that also has ``words``; ids that exist do not change. ``columns`` may have become more."""
        lookup = self.columns
        if columns > len(lookup):
            lookup = np.concatenate([lookup, np.full(columns - len(lookup), -1, dtype=np.int32)])
        new = words[lookup[words] < 0]
        if not len(new):
            return self
        everything = np.concatenate([self.words, new])
        lookup = lookup.copy()
        lookup[new] = np.arange(len(self.words), len(everything), dtype=np.int32)
        called = self.vocabulary if vocabulary is None else vocabulary
        frame = replace(self, words=everything, columns=lookup, base=self, vocabulary=called)
        if self.graph is None:
            return frame
        if len(frame.known) == len(self.known) or self.related is None:
            graph = _spread(self.graph, np.arange(len(self.words)), len(everything))
            return replace(frame, graph=graph, c_max=frame._far(self.c_max))
        graph, c_max = self._extended_costs(frame)
        return replace(frame, graph=graph, c_max=frame._far(c_max))

    def _extended_costs(self, frame: Frame) -> tuple[Csr, float]:
        """Costs over the words of a frame that begins with ours: the edges of the others are put into our graph."""
        related, embeddings, graph = self.related, self.embeddings, self.graph
        assert related is not None
        assert embeddings is not None
        assert graph is not None
        words, old = frame.words[frame.known], len(self.known)
        ids = _link(related, embeddings).ids_of(words)
        if np.isnan(related.c_max) or ((ids[:old] < 0).any() and (ids[old:] >= 0).any()):
            costs, c_max = costs_over(related, embeddings, words)
            return _spread(costs, frame.known, len(frame.words)), c_max
        rows, columns, costs = _joined(related, embeddings, words, ids, np.arange(old, len(words)))
        one_end = (ids[rows] < 0) & (columns >= old)  # between two new words, known from one end only
        rows, columns = np.concatenate([rows, columns[one_end]]), np.concatenate([columns, rows[one_end]])
        costs = np.minimum(np.concatenate([costs, costs[one_end]]), np.float32(related.c_max))
        return _inserted(graph, frame.known[rows], frame.known[columns], costs, len(frame.words)), self.c_max


def _inserted(graph: Csr, rows: Int64Array, columns: Int64Array, costs: Float32Array, size: int) -> Csr:
    """A graph with edges from new words, which come behind its own; those to its own words go in both ways."""
    old = graph.shape[0]
    order = np.lexsort((columns, rows))
    rows, columns, costs = rows[order], columns[order], costs[order]
    back = np.lexsort((rows, columns))
    back = back[columns[back] < old]
    ends = graph.indptr[columns[back] + 1]
    indices = np.concatenate([np.insert(graph.indices, ends, rows[back]), columns]).astype(np.int32)
    data = np.concatenate([np.insert(graph.data, ends, costs[back]), costs]).astype(np.float32)
    degrees = np.zeros(size, dtype=np.int64)
    degrees[:old] = np.diff(graph.indptr) + np.bincount(columns[back], minlength=old)
    degrees += np.bincount(rows, minlength=size)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return Csr(indptr, indices, data, (size, size))


def costs_over(related: RelatedWords, embeddings: Embeddings, words: Int64Array) -> tuple[Csr, float]:
    """Related-word costs between ``words`` (ids in ``embeddings``), clamped at c_max, and c_max.

    Words are matched by spelling. A word that ``related`` does not know is joined to its words by
    :meth:`RelatedWords.rows_for`, and to other such words by :meth:`RelatedWords.outside_pairs`.
    """
    if np.isnan(related.c_max):
        return _complete_costs(embeddings.matrix[words])
    ids = _link(related, embeddings).ids_of(words)
    rows, columns, costs = _joined(related, embeddings, words, ids, np.arange(len(words)))
    outside = ids[rows] < 0  # their edges are known from one end only
    rows, columns = np.concatenate([rows, columns[outside]]), np.concatenate([columns, rows[outside]])
    costs = np.minimum(np.concatenate([costs, costs[outside]]), np.float32(related.c_max))
    return _csr(rows, columns, costs, len(words)), float(related.c_max)


def _joined(
    related: RelatedWords, embeddings: Embeddings, words: Int64Array, ids: Int64Array, some: Int64Array
) -> tuple[Any, Any, Any]:
    """Edges from ``some`` of the words: (place, place, distance). Those between two words that ``related`` does not
    know are given once."""
    inside, outside = some[ids[some] >= 0], some[ids[some] < 0]
    known = np.flatnonzero(ids >= 0)
    place = np.full(len(related.vocabulary), -1, dtype=np.int64)
    place[ids[known]] = known
    rows, columns, costs = _edges(related.edges, ids[inside], place, inside)
    _check_same_vectors(embeddings, words, rows, columns, costs)
    if not len(outside):
        return rows, columns, costs
    known_vectors = _link(related, embeddings).vectors_of(related, embeddings)
    others = np.concatenate([np.setdiff1d(np.flatnonzero(ids < 0), outside), outside])  # ours come last
    vectors = embeddings.matrix[words[others]]
    more = sp.csr_array(related.rows_for(vectors, known_vectors))
    first = len(others) - len(outside)
    near, far, values = _edges(more, np.arange(first, len(others)), place, outside)
    i, j, between = related.outside_pairs(vectors, more)
    ours = np.maximum(i, j) >= first
    i, j, between = np.maximum(i, j)[ours], np.minimum(i, j)[ours], between[ours]
    return (
        np.concatenate([rows, near, others[i]]),
        np.concatenate([columns, far, others[j]]),
        np.concatenate([costs, values, between]),
    )


class _Link:
    """How the words of some embeddings and of some related words correspond."""

    def __init__(self, related: RelatedWords, embeddings: Embeddings) -> None:
        self.same = related.vocabulary == embeddings.vocabulary
        self.ids = None if self.same else related.vocabulary.ids(embeddings.vocabulary)
        self.vectors: Embeddings | None = None

    def ids_of(self, words: Int64Array) -> Int64Array:
        """Ids in the related words' vocabulary, -1 for words outside it."""
        if self.ids is None:
            return words
        ids: Int64Array = self.ids[words]
        if len(words) and not (self.ids >= 0).any():
            raise VocabularyMismatch(
                "None of the words of embeddings= is in the vocabulary of related=. "
                "Build it from the same embeddings: RelatedWords.build(embeddings)."
            )
        return ids

    def vectors_of(self, related: RelatedWords, embeddings: Embeddings) -> Embeddings:
        """The embeddings of exactly the related words' vocabulary, in its order."""
        if self.vectors is None:
            ids = embeddings.vocabulary.ids(related.vocabulary)
            if (ids < 0).any():
                word = related.vocabulary[int(np.flatnonzero(ids < 0)[0])]
                raise VocabularyMismatch(
                    f"Some documents' words are outside related=, and its word {word!r} has no vector in embeddings=, "
                    "so the nearest words cannot be found. Pass the embeddings that related= was built from, or more."
                )
            self.vectors = embeddings if self.same else embeddings.restrict(ids)
        return self.vectors


_links_lock = threading.Lock()
_links: WeakKeyDictionary[RelatedWords, WeakKeyDictionary[Embeddings, _Link]] = WeakKeyDictionary()


def _link(related: RelatedWords, embeddings: Embeddings) -> _Link:
    """The link of two objects, made once for as long as both live."""
    with _links_lock:
        of_related = _links.setdefault(related, WeakKeyDictionary())
        found = of_related.get(embeddings)
    if found is None:
        found = _Link(related, embeddings)
        with _links_lock:
            of_related[embeddings] = found
    return found


def _edges(graph: Any, rows: Int64Array, place: Int64Array, names: Int64Array) -> tuple[Any, Any, Any]:
    """Edges of some rows of a graph whose far end is in play: (row's name, place of the far end, distance)."""
    ends, entries = entries_of(graph.indptr, rows)
    far = place[graph.indices[entries]]
    keep = np.flatnonzero(far >= 0)
    return np.repeat(names, np.diff(ends))[keep], far[keep], graph.data[entries[keep]].astype(np.float32, copy=False)


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


def _spread(graph: Csr, places: Int64Array, size: int) -> Csr:
    """The graph with its words at ``places`` (rising) among ``size`` words, the others of which have no edge."""
    if len(places) == size:
        return graph
    degrees = np.zeros(size, dtype=np.int64)
    degrees[places] = np.diff(graph.indptr)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    same = len(places) == 0 or places[-1] == len(places) - 1
    indices = graph.indices if same else places[graph.indices].astype(np.int32)
    return Csr(indptr, indices, graph.data, (size, size))


def _csr(rows: Any, columns: Any, values: Any, n: int) -> Csr:
    """A canonical Csr of distinct edges; explicit zeros (words with equal vectors) stay."""
    if len(rows) < _FEW_EDGES:
        order = np.lexsort((columns, rows))
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.bincount(rows, minlength=n).cumsum(out=indptr[1:])
        return Csr(indptr, columns[order].astype(np.int32), values[order].astype(np.float32, copy=False), (n, n))
    matrix = sp.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    matrix.sort_indices()
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return Csr(indptr, indices, matrix.data.astype(np.float32), (n, n))


def words_of(*matrices: sp.csr_array) -> Int64Array:
    """The columns that some row uses, sorted."""
    used = np.zeros(max(matrix.shape[1] for matrix in matrices), dtype=bool)
    for matrix in matrices:
        used[matrix.indices] = True
    return np.flatnonzero(used).astype(np.int64)
