"""Documents of an index compared as they are in memory: what the posting lists cannot decide, and explanations.

A word has a column: the row of its vector, or behind those, for a word without one, its place among such words. The
words of a document then have the order in which the index stores them, and every sum goes the way it goes in the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Counts, Float64Array, Int64Array, Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Run
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.compare.nearest import nearest
from wordferry.compare.prepare import vectors_by_cost, words_of
from wordferry.compare.problem import Distance, Problem, chosen_device
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.index.search.requests import Request
from wordferry.index.search.views import View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import damaged_among
from wordferry.kernels.lists import Found
from wordferry.texts.weights import Weighting
from wordferry.words.related.whole import related_of
from wordferry.words.vocabulary import Vocabulary

_NO_NUMBERS = np.zeros(0, np.int64)


def documents_of(view: View, rows: Int64Array) -> Counts:
    """The bags of some rows, ascending, without words that do not count."""
    size = view.snapshot.terms.size
    try:
        bags = view.snapshot.bags_of(rows).rows
        if len(bags.words) and not 0 <= bags.words.min() <= bags.words.max() < size:
            raise IndexError(f"a document has a word that is not one of {size}")
    except IndexError as error:
        raise damaged_among(view.snapshot.parts, error) from None
    if view.weights.per_word.all():
        return bags
    some = view.weights.per_word[bags.words] > 0
    indptr = np.concatenate(([0], np.cumsum(some)))[bags.indptr].astype(np.int64)
    return Counts(indptr, bags.words[some], bags.counts[some])


class Prepared:
    """Documents, given by the numbers of their words, as masses over the words in play.

    ``also`` are words without a vector that have a column in the order of their numbers though no document has them.
    The view, which may keep this, is not kept.
    """

    def __init__(
        self, view: View, distance: Distance, overlap: str, documents: Counts, also: Int64Array = _NO_NUMBERS
    ) -> None:
        self.distance, self.overlap, self._words = distance, overlap, view.embeddings.vocabulary
        self._weighting, self._known = view.weights.weighting, _known_weights(view)
        terms, vectors = view.snapshot.terms, view.snapshot.terms.row_of[documents.words].astype(np.int64)
        self._apart = np.unique(np.concatenate([documents.words[vectors < 0], also[also < terms.size]]))
        matrix, weights, spelled = self._read(documents, vectors)
        embeddings, related = vectors_by_cost(view.embeddings, distance), None
        if distance.needs_related:
            related = related_of(view.embeddings) if view.graph is None else view.graph
        # Related words are joined to words that have some, of which one is needed.
        words = np.union1d(words_of(matrix), terms.rows[:1])
        self._frame = Frame.build(words, matrix.shape[1], embeddings, related, spelled)
        self.bags = Bags.of(matrix, np.arange(matrix.shape[0]), self._frame, weights, "Y")

    def __len__(self) -> int:
        return len(self.bags)

    def _read(self, rows: Counts, vectors: Int64Array) -> tuple[sp.csr_array, Weighting | None, Any]:
        """Rows of counts by column, what the columns weigh (None for plain counts), and how they are spelled."""
        given, numbers, size = self._weighting, rows.words, len(self._words)
        new = np.setdiff1d(numbers[vectors < 0], self._apart)
        places = np.searchsorted(self._apart, numbers)
        later = np.append(self._apart, -1)[places] != numbers
        places[later] = len(self._apart) + np.searchsorted(new, numbers[later])
        apart = np.concatenate([self._apart, new])
        columns, shape = np.where(vectors >= 0, vectors, size + places), (len(rows.indptr) - 1, size + len(apart))
        matrix = sp.csr_array((rows.counts.astype(np.float64), columns, rows.indptr), shape=shape)
        weights = None
        if given.scheme != "counts":
            weights = replace(given, per_word=np.concatenate([self._known, given.of(apart)]))
            matrix.data *= weights.per_word[columns] > 0
            matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix, weights, _Spelled(self._words, apart)

    def problem(self, queries: Sequence[QueryWords], threads: int | None, device: str | None = None) -> Problem:
        """The problem of queries against the documents; words that are new to these are put behind theirs."""
        numbers, vectors, counts = (
            np.concatenate([getattr(one, name) for one in queries]) for name in ("numbers", "vectors", "counts")
        )
        indptr = np.cumsum([0, *map(len, queries)])
        matrix, weights, spelled = self._read(Counts(indptr, numbers, counts), vectors)
        frame = self._frame.extended(words_of(matrix), matrix.shape[1], spelled)
        run = Run(threads, device=device)
        return self._against(Bags.of(matrix, np.arange(len(queries)), frame, weights, "X"), frame, run)

    def among_themselves(self, threads: int | None) -> Problem:
        """The problem of the documents against each other; nothing is prepared again."""
        return self._against(self.bags, self._frame, Run(threads))

    def _against(self, x: Bags, frame: Frame, run: Run) -> Problem:
        frame = frame.priced(self.distance.cost)
        return Problem(self.distance, self.overlap, "both", x, self.bags, frame, run)


def _known_weights(view: View) -> Float64Array:
    """What words with a vector weigh by its row; those that the dictionary does not have weigh what a new word does."""

    def made() -> Float64Array:
        terms, given, new = view.snapshot.terms, view.weights.weighting, view.weights.new
        known = new.copy() if len(new) else np.full(len(view.embeddings), given.unseen)
        known[terms.rows] = given.per_word[terms.numbers]
        return known

    found: Float64Array = view.kept(None, "known weights", made)
    return found


@dataclass(frozen=True)
class _Spelled:
    """The words of columns; those without a vector have ``numbers``, which ``names`` spell where they are asked for."""

    words: Vocabulary
    numbers: Int64Array
    names: Mapping[int, str] = field(default_factory=dict)

    def __getitem__(self, column: int) -> str:
        behind = column - len(self.words)
        return self.words[column] if behind < 0 else self.names.get(int(self.numbers[behind]), "")


def compared(view: View, queries: Sequence[QueryWords], request: Request, rows: Int64Array) -> Neighbors:
    """The nearest of some rows, ascending, to each query."""
    also = np.concatenate([words.numbers[words.with_vectors :] for words in queries])
    some = Prepared(view, request.distance, request.overlap, documents_of(view, rows), also)
    return nearest(some.problem(queries, request.threads), min(request.k, len(rows))).renumbered(rows)


def whole(view: View, distance: Distance, overlap: str) -> Prepared:
    """All living documents, prepared; kept as long as the view is."""

    def made() -> Prepared:
        also = np.flatnonzero(view.snapshot.terms.row_of < 0) if view.is_shard else _NO_NUMBERS
        return Prepared(view, distance, overlap, documents_of(view, view.snapshot.live_rows()), also)

    found: Prepared = view.kept(None, ("whole", distance.name, overlap), made)
    return found


def scan(view: View, queries: Sequence[QueryWords], request: Request) -> Found:
    """The k nearest rows to each query, by comparing with every document."""
    live = view.snapshot.live_rows()
    prepared = whole(view, request.distance, request.overlap)
    problem = prepared.problem(queries, request.threads, request.device)
    near = nearest(problem, min(request.k, len(live)), None if request.mask is None else request.mask[live])
    near = near.renumbered(live).resized(request.k)
    return Found(near.indices, near.distances, 0, len(live) * len(queries))


class Scan:
    """Every document, prepared in memory: what serves every distance."""

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        return True

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        """The k nearest rows to each query by (distance, row)."""
        found = scan(view, queries, request)
        if request.progress is not None:
            request.progress(len(queries), len(queries))
        counts = {"pairs": view.snapshot.count(request.mask) * len(queries), "evaluated": found.evaluated}
        return Neighbors(found.rows, found.distances, counts=counts)


def nearest_on_device(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors | None:
    """The answer of :class:`Scan` from a GPU; None where none is to be used, or has no method for the distance."""
    if chosen_device(Run(device=request.device)) == "cpu":
        return None
    problem = whole(view, request.distance, request.overlap).problem(queries[:1], request.threads, request.device)
    return Scan().nearest(view, queries, request) if any(method.device for method in problem.methods) else None


def explain(
    view: View, distance: Distance, overlap: str, pair: tuple[QueryWords, QueryWords], names: Mapping[int, str]
) -> Explanation:
    """Why two documents are as far apart as they are by a distance; ``names`` spell words without a vector."""
    if lacks_graph(view, distance):
        prepared = whole(view, distance, overlap)
    else:
        also = np.concatenate([words.numbers[words.with_vectors :] for words in pair])
        nothing = Counts(np.zeros(1, np.int64), _NO_NUMBERS, _NO_NUMBERS)
        prepared = Prepared(view, distance, overlap, nothing, also)
    both = prepared.problem(pair, 1)
    problem = replace(both, y=both.x).part(slice(0, 1), slice(1, 2))
    spelled: Any = replace(problem.frame.vocabulary, names=names)  # type: ignore[type-var]
    return explanation_of(replace(problem, frame=replace(problem.frame, vocabulary=spelled)))


def lacks_graph(view: View, distance: Distance) -> bool:
    """Whether there are too few words for related words to leave any out: these are then sought in all documents."""
    return distance.needs_related and (view.graph is None or bool(np.isnan(view.graph.c_max)))
