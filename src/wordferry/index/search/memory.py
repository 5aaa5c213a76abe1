"""Documents of an index compared as they are in memory: what the posting lists cannot decide, and explanations.

A word has a column: the row of its vector, or behind those, for a word without one, its number. The words of a document
then have the order in which the index stores them, and every sum goes the way it goes in the index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Counts, Int64Array, Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.index.search.requests import Request, padded
from wordferry.index.search.views import View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import damaged_among
from wordferry.kernels.lists import Found
from wordferry.texts.bow import Encoded
from wordferry.texts.weights import Weighting
from wordferry.words.open_vocabulary import OpenVocabulary


def columns(view: View, numbers: Int64Array, vectors: Int64Array) -> Int64Array:
    """The columns of some words, given by their numbers and vectors."""
    return np.where(vectors >= 0, vectors, len(view.embeddings) + numbers)


def weights_by_column(view: View) -> Weighting:
    """What words weigh by column; words that the dictionary does not have weigh what a new word does."""
    terms, given = view.snapshot.terms, view.weights.weighting

    def made() -> Weighting:
        new = view.weights.new
        known = new.copy() if len(new) else np.full(len(view.embeddings), given.unseen)
        known[terms.rows] = given.per_word[terms.numbers]
        return replace(given, per_word=np.concatenate([known, given.per_word]))

    found: Weighting = view.kept(None, "columns", made)
    return found


def weights_to(weights: Weighting, size: int) -> Weighting:
    """Weights of ``size`` columns: those behind the last are of new words."""
    more = np.full(size - len(weights.per_word), weights.unseen)
    return replace(weights, per_word=np.concatenate([weights.per_word, more])) if len(more) else weights


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


def query_rows(queries: Sequence[QueryWords]) -> Counts:
    """Queries as rows of counts by number."""
    indptr = np.cumsum([0, *map(len, queries)]).astype(np.int64)
    words = np.concatenate([np.zeros(0, np.int64), *(one.numbers for one in queries)])
    counts = np.concatenate([np.zeros(0), *(one.counts for one in queries)])
    return Counts(indptr, words, counts)


def encoded(view: View, rows: Counts, vectors: Int64Array, also: Int64Array | None = None) -> Encoded:
    """Rows of counts by number, whose words have these vectors, as a searcher takes them.

    Words without a vector need no more than a name of their own: one that is made of the number. ``also`` are numbers
    of such words that are to have a column, and with it their weight, though no row has them.
    """
    size = len(view.embeddings)
    column = columns(view, rows.words.astype(np.int64), vectors)
    more = np.zeros(0, np.int64) if also is None else size + also[also < view.snapshot.terms.size]
    apart = np.unique(np.concatenate([column[column >= size], more]))
    vocabulary = OpenVocabulary(view.embeddings.vocabulary)
    vocabulary.add_others([_name(number) for number in (apart - size).tolist()])
    places = np.where(column >= size, size + np.searchsorted(apart, column), column).astype(np.int32)
    shape = (len(rows.indptr) - 1, size + len(apart))
    matrix = sp.csr_array((rows.counts.astype(np.int32), places, rows.indptr), shape=shape)
    tokens = np.asarray(matrix.sum(axis=1)).astype(np.int64)
    return Encoded(matrix, np.arange(shape[0]), tokens, tokens, Counter(), shape[0], vocabulary)


def _name(number: int) -> str:
    return f"\0{number}"


def searcher(view: View, distance: Distance, overlap: str, documents: Encoded) -> Searcher:
    """Documents prepared for a distance, with what words weigh in the view."""
    weights, size = weights_by_column(view), len(view.embeddings)
    assert isinstance(documents.vocabulary, OpenVocabulary)
    numbers = np.array([int(name[1:]) for name in documents.vocabulary.extra], dtype=np.int64)
    per_word = np.concatenate([weights.per_word[:size], weights.of(size + numbers)])
    return Searcher(
        documents,
        distance,
        embeddings=view.embeddings,
        related=view.graph if distance.needs_related else None,
        overlap=overlap if distance.overlaps else None,
        weights="counts" if weights.scheme == "counts" else replace(weights, per_word=per_word),
        unknown="match" if view.weights.keeps else "drop",
        on_empty="keep",
        words=view.snapshot.terms.rows[:1],  # related words are joined to words that have some, of which one is needed
    )


def _vectors(view: View, rows: Counts) -> Int64Array:
    found: Int64Array = view.snapshot.terms.row_of[rows.words].astype(np.int64)
    return found


def encode_queries(view: View, asked: Sequence[QueryWords], also: Int64Array | None = None) -> Encoded:
    """Queries as a searcher takes them."""
    vectors = np.concatenate([np.zeros(0, np.int64), *(words.vectors for words in asked)])
    return encoded(view, query_rows(asked), vectors, also)


def compared(view: View, words: QueryWords, request: Request, rows: Int64Array) -> Neighbors:
    """The nearest of some rows, ascending, to a query."""
    documents = documents_of(view, rows)
    also = words.numbers[words.with_vectors :]
    prepared = encoded(view, documents, _vectors(view, documents), also)
    some = searcher(view, request.distance, request.overlap, prepared)
    near = some.top_k(encode_queries(view, [words]), min(request.k, len(rows)), threads=request.threads)
    return near.renumbered(rows)


def whole(view: View, distance: Distance, overlap: str) -> Searcher:
    """All living documents, prepared; kept as long as the view is."""

    def made() -> Searcher:
        documents = documents_of(view, view.snapshot.live_rows())
        also = np.flatnonzero(view.snapshot.terms.row_of < 0) if view.is_shard else None
        return searcher(view, distance, overlap, encoded(view, documents, _vectors(view, documents), also))

    found: Searcher = view.kept(None, ("whole", distance.name, overlap), made)
    return found


def scan(view: View, queries: Sequence[QueryWords], request: Request) -> Found:
    """The k nearest rows to each query, by comparing with every document."""
    live = view.snapshot.live_rows()
    allowed = None if request.mask is None else request.mask[live]
    prepared = whole(view, request.distance, request.overlap)
    k = min(request.k, len(live))
    near = prepared.top_k(encode_queries(view, queries), k, mask=allowed, threads=request.threads).renumbered(live)
    near = padded(near, request.k)
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


def explain(
    view: View, distance: Distance, overlap: str, pair: tuple[QueryWords, QueryWords], names: Mapping[int, str]
) -> Explanation:
    """Why two documents are as far apart as they are by a distance; ``names`` spell words without a vector."""
    graph = view.graph if distance.needs_related else None
    if distance.needs_related and (graph is None or np.isnan(graph.c_max)):
        # Too few words for related words to leave any out: they are looked for among those of all documents.
        both = whole(view, distance, overlap).problem(encode_queries(view, pair), threads=1)
        problem = replace(both, y=both.x).part(slice(0, 1), slice(1, 2))
    else:
        also = pair[0].numbers[pair[0].with_vectors :]
        second = searcher(view, distance, overlap, encode_queries(view, pair[1:], also))
        problem = second.problem(encode_queries(view, pair[:1]), threads=1)
    spelled: Any = _Spelled(problem.frame.vocabulary, {_name(number): word for number, word in names.items()})
    return explanation_of(replace(problem, frame=replace(problem.frame, vocabulary=spelled)))


class _Spelled:
    """The words of columns, where those without a vector were named by their numbers."""

    def __init__(self, words: Any, names: Mapping[str, str]) -> None:
        self._words, self._names = words, names

    def __getitem__(self, column: int) -> str:
        word = self._words[column]
        return self._names.get(word, word)
