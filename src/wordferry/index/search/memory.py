"""Documents of an index compared as they are in memory: what the posting lists cannot decide, and explanations.

A word has a column: the row of its vector, or behind those, for a word without one, its place among such words. The
words of a document then have the order in which the index stores them, and every sum goes the way it goes in the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import Any

import numpy as np

from wordferry.base.arrays import Counts, Csr, Int64Array, Neighbors, distinct
from wordferry.base.runtime import device_name, thread_count
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame, words_of
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import nearest
from wordferry.compare.problem import Distance, Problem, Running, vectors_by_cost
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords, WordWeights
from wordferry.index.storage.snapshot import reading_parts
from wordferry.words.related.whole import related_of
from wordferry.words.vocabulary import Vocabulary


def documents_of(view: View, rows: Int64Array) -> Counts:
    """The bags of some rows, ascending."""
    size, parts = view.snapshot.terms.size, view.snapshot.parts
    own = np.split(rows, np.searchsorted(rows, [part.start for part in parts[1:]]))
    with reading_parts(*parts):
        some = [Counts(one.indptr, one.words, one.counts) for one in (part.rows.bags for part in parts)]
        bags = Counts.join([one.select(own[i] - parts[i].start) for i, one in enumerate(some)])
        if len(bags.words) and not 0 <= bags.words.min() <= bags.words.max() < size:
            raise IndexError(f"a document has a word that is not one of {size}")
    return bags


def queries_of_rows(view: View, rows: Int64Array) -> list[QueryWords]:
    """The words of some documents that count, as queries; the rows ascend."""
    bags, found = documents_of(view, rows), []
    for start, end in pairwise(bags.indptr.tolist()):
        counted = view.weights.per_word[bags.words[start:end]] > 0
        numbers = bags.words[start:end][counted].astype(np.int64)
        vectors = view.snapshot.terms.row_of[numbers].astype(np.int64)
        counts = bags.counts[start:end][counted].astype(np.float64)
        found.append(QueryWords(numbers, vectors, counts, int(np.count_nonzero(vectors >= 0))))
    return found


def _rows_of(queries: Sequence[QueryWords]) -> tuple[Counts, Int64Array]:
    """Queries as rows of counts, and the vectors of their words."""
    words, counts, vectors = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(one, name) for one in queries)])
        for name in ("numbers", "counts", "vectors")
    )
    return Counts(np.cumsum([0, *map(len, queries)]), words, counts), vectors


def _matrix(weights: WordWeights, rows: Counts, vectors: Int64Array, places: tuple[int, Int64Array]) -> Csr:
    """What the words weigh in some rows that count, by column; ``vectors`` are those of the words, -1 for none.

    ``places``: how many words have a vector, and the numbers of all words without one that may come, ascending.
    """
    given, (size, apart) = weights.weighting, places
    counted = given.of(rows.words) > 0
    if not counted.all():
        ends = np.concatenate(([0], np.cumsum(counted)))[rows.indptr]
        rows, vectors = Counts(ends, rows.words[counted], rows.counts[counted]), vectors[counted]
    documents, counts = len(rows.indptr) - 1, rows.counts.astype(np.float64)
    values = given.apply(counts, rows.words, np.repeat(np.arange(documents), np.diff(rows.indptr)), documents)
    if len(weights.new):  # a word that no document has weighs what its vector says
        outside = (rows.words >= len(given.per_word)) & (vectors >= 0)
        values[outside] = counts[outside] * weights.new[vectors[outside]]
    columns = np.where(vectors >= 0, vectors, size + np.searchsorted(apart, rows.words))
    return Csr(rows.indptr, columns, values, (documents, size + len(apart)))


def _bags(
    view: View, distance: Distance, rows: Int64Array, queries: Sequence[QueryWords], apart: Int64Array | None = None
) -> tuple[Bags, Frame]:
    """Some rows and behind them queries as masses, over the words of all of them.

    ``apart`` are the numbers of words without a vector that may come later; None where none do.
    """
    documents, terms, words = documents_of(view, rows), view.snapshot.terms, view.embeddings.vocabulary
    asked, theirs = _rows_of(queries)
    every, vectors = Counts.join([documents, asked]), np.concatenate([terms.row_of[documents.words], theirs])
    apart = distinct(every.words[vectors < 0]) if apart is None else apart
    matrix = _matrix(view.weights, every, vectors, (len(words), apart))
    related, used = None, words_of(matrix)
    if distance.needs_related:
        related = related_of(view.embeddings) if view.graph is None else view.graph
        used = np.union1d(used, terms.rows[:1])  # others are joined to words that have related ones, at least one
    embeddings, spelled = vectors_by_cost(view.embeddings, distance), _Spelled(words, apart)
    frame = Frame.build(used, matrix.shape[1], embeddings, related, spelled)  # type: ignore[arg-type]
    if related is None and view.far:
        frame = replace(frame, c_max=view.far)
    return Bags.of(matrix, np.concatenate([rows, np.arange(len(queries))]), frame, None, "Y"), frame


class Prepared:
    """All living documents of a state as masses. The view, which keeps this, is not kept."""

    def __init__(self, view: View, distance: Distance, overlap: str) -> None:
        self.distance, self.overlap, self._words = distance, overlap, view.embeddings.vocabulary
        self._weights, self._apart = view.weights, np.flatnonzero(view.snapshot.terms.row_of < 0)
        bags, self._frame = _bags(view, distance, view.snapshot.rows(view.snapshot.alive), (), self._apart)
        self.bags = replace(bags, rows=np.arange(len(bags)))

    def problem(self, queries: Sequence[QueryWords] | None, threads: int | None) -> Problem:
        """The problem of queries against the documents; None for the documents themselves, against each other.

        Words that are new to the documents are put behind theirs.
        """
        x, frame, words = self.bags, self._frame, self._words
        if queries is not None:
            rows, vectors = _rows_of(queries)
            apart = np.union1d(self._apart, rows.words[vectors < 0])
            matrix, spelled = _matrix(self._weights, rows, vectors, (len(words), apart)), _Spelled(words, apart)
            frame = frame.extended(words_of(matrix), matrix.shape[1], spelled)  # type: ignore[arg-type]
            x = Bags.of(matrix, np.arange(len(queries)), frame, None, "X")
        how = Running(thread_count(threads), None, device_name())
        return Problem(self.distance, self.overlap, "both", x, self.bags, frame.priced(self.distance.cost), how)


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
    bags, frame = _bags(view, request.distance, rows, queries)
    x, y, distance = bags.slice(len(rows), len(bags)), bags.slice(0, len(rows)), request.distance
    how = Running(request.threads, None, device_name())
    problem = Problem(distance, request.overlap, "both", x, y, frame.priced(distance.cost), how)
    return nearest(problem, min(request.k, len(rows)))


def whole(view: View, distance: Distance, overlap: str) -> Prepared:
    """All living documents, prepared; kept as long as the view is."""
    return view.kept(None, ("whole", distance.name, overlap), lambda: Prepared(view, distance, overlap))


def scan(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to each query, by comparing with every document, prepared in memory: for every distance."""
    live = view.snapshot.rows(view.snapshot.alive)
    problem = whole(view, request.distance, request.overlap).problem(queries, request.threads)
    near = nearest(problem, min(request.k, len(live)), None if request.mask is None else request.mask[live])
    counts = {"postings": 0, "evaluated": len(live) * len(queries)}
    return replace(near.renumbered(live).resized(request.k), counts=counts)


def on_device(view: View, queries: Sequence[QueryWords], request: Request) -> bool:
    """Whether a GPU is to be used, and has a method for the distance."""
    if not Running(1, None, device_name()).on_device:
        return False
    problem = whole(view, request.distance, request.overlap).problem(queries[:1], request.threads)
    return any(method.device for method in problem.methods)


def explain(
    view: View, measure: Measure, pair: tuple[QueryWords, QueryWords], spell: Callable[[list[int]], dict[int, str]]
) -> Explanation:
    """Why two documents are as far apart as they are; ``spell`` gives words of the index by their numbers."""
    distance, overlap = measure.distance, measure.overlap
    names: dict[int, str] = {}
    for words in reversed(pair):
        names |= dict(zip(words.numbers[words.with_vectors :].tolist(), words.names, strict=False))
    names |= spell([n for n in pair[1].numbers[pair[1].with_vectors :].tolist() if n not in names])
    if lacks_graph(view, distance):
        both = whole(view, distance, overlap).problem(pair, 1)
        problem = replace(both, y=both.x).part(slice(0, 1), slice(1, 2))
    else:
        bags, frame = _bags(view, distance, np.zeros(0, np.int64), pair)
        frame, x, y = frame.priced(distance.cost), bags.slice(0, 1), bags.slice(1, 2)
        problem = Problem(distance, overlap, "both", x, y, frame, Running(1))
    spelled: Any = replace(problem.frame.vocabulary, names=names)  # type: ignore[type-var]
    return explanation_of(replace(problem, frame=replace(problem.frame, vocabulary=spelled)))


def apart(first: QueryWords, second: QueryWords, size: int) -> QueryWords:
    """The second text with words that no document has numbered behind those of the first."""
    one, other = ([*words.vectors[: words.with_vectors].tolist(), *words.names] for words in (first, second))
    known, numbers = dict(zip(one, first.numbers.tolist(), strict=True)), second.numbers.tolist()
    following = count(max(size, int(first.numbers.max(initial=-1)) + 1))
    for place, word in enumerate(other):
        if numbers[place] >= size:
            numbers[place] = known[word] if word in known else next(following)
    return replace(second, numbers=np.array(numbers, dtype=np.int64))


def lacks_graph(view: View, distance: Distance) -> bool:
    """Whether there are too few words for related words to leave any out: these are then sought in all documents."""
    return distance.needs_related and (view.graph is None or bool(np.isnan(view.graph.c_max)))
