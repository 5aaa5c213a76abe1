"""Comparing texts with the documents of an index: which strategy answers, and from rows to hits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

import numpy as np

from wordferry.base.arrays import BoolArray, Neighbors
from wordferry.base.runtime import progress_for, thread_count
from wordferry.base.values import plain_value
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Distance
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.index.results import shown
from wordferry.index.search import memory
from wordferry.index.search.centroids import Centroids
from wordferry.index.search.lists import RelatedLists
from wordferry.index.search.requests import Ask, Request
from wordferry.index.search.shared_words import SharedWords
from wordferry.index.search.shortlist import Shortlist
from wordferry.index.search.views import View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import Snapshot
from wordferry.texts.bow import LookedUp, looked_up, unknown_word_error
from wordferry.texts.reasons import no_known_word, no_word
from wordferry.texts.records import undecoded
from wordferry.texts.tables import as_documents
from wordferry.texts.tokenizers import Tokenizer, words_of
from wordferry.words.vocabulary import Vocabulary

Split = Callable[[str, Tokenizer], list[str]]


class Strategy(Protocol):
    """One way to find the nearest documents of a state; all ways give the same answer."""

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        """Whether it can answer by this distance."""

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        """The k nearest rows to each query by (distance, row)."""


STRATEGIES: tuple[Strategy, ...] = (SharedWords(), Centroids(), RelatedLists(), Shortlist(), memory.Scan())
"""In the order in which they are asked: the cheapest first."""


_MANY = 32
"""Queries that are worth comparing with every document on a GPU, where one is to be used."""


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to each query, by the first strategy that applies."""
    if len(queries) >= _MANY:
        found = memory.nearest_on_device(view, queries, request)
        if found is not None:
            return found
    distance, overlap = request.distance, request.overlap
    chosen: Strategy | None = view.strategies.get((distance, overlap))
    if chosen is None:
        # Stored costs are distances of vectors, so that other costs are computed in memory.
        able = STRATEGIES if distance.costs <= {"euclidean"} else STRATEGIES[-1:]
        chosen = next(one for one in able if one.applies(view, distance, overlap))
        view.strategies[distance, overlap] = chosen
    return chosen.nearest(view, queries, request)


def similar(
    view: View, connection: sqlite3.Connection, asked: Sequence[LookedUp], measure: Measure, ask: Ask
) -> tuple[Neighbors, Sequence[QueryWords]]:
    """The nearest rows to each query, and the queries by the numbers of their words."""
    queries = [view.words(connection, tokens) for tokens in asked]
    mask = view.snapshot.allowed(ask.condition)
    if ask.without is not None:
        mask = without(connection, view.snapshot, mask, ask.without)
    first = ask.k if ask.rerank is None else ask.candidates
    request = Request(
        measure.distance,
        measure.overlap,
        min(first, view.snapshot.documents),
        mask,
        thread_count(ask.threads),
        None if ask.progress is None else progress_for(ask.progress, "searching"),
        ask.device,
    )
    near = nearest(view, queries, request)
    return (near if ask.rerank is None else _reranked(view, queries, near, ask, request)), queries


def _reranked(view: View, queries: Sequence[QueryWords], near: Neighbors, ask: Ask, request: Request) -> Neighbors:
    """The candidates of each query in the order of another distance; no other document is looked at."""
    assert ask.rerank is not None
    k = min(ask.k, view.snapshot.documents)
    distance = ask.rerank.distance
    request = replace(request, distance=distance, overlap=ask.rerank.overlap, k=k, progress=None)
    whole = memory.lacks_graph(view, distance)
    found = []
    for words, row in zip(queries, near.indices, strict=True):
        rows = np.sort(row[row >= 0])
        if whole:
            mask = np.zeros(len(view.snapshot.numbers), dtype=bool)
            mask[rows] = True
            found.append(memory.scan(view, [words], replace(request, mask=mask)))
        else:
            found.append(memory.compared(view, [words], request, rows).resized(k))
    rows, distances = (np.concatenate([getattr(one, name) for one in found]) for name in ("indices", "distances"))
    return Neighbors(rows, distances, counts=near.counts)


def without(connection: sqlite3.Connection, snapshot: Snapshot, mask: BoolArray | None, identifier: str) -> BoolArray:
    """The mask, less the row of a document."""
    found = connection.execute("SELECT number FROM documents WHERE id = ?", (identifier,)).fetchone()
    mask = np.ones(len(snapshot.numbers), dtype=bool) if mask is None else mask.copy()
    row = None if found is None else snapshot.numbers.row(found[0])
    if row is not None:
        mask[row] = False
    return mask


@cache
def described(distance: Distance, weights: str, unknown: str) -> str:
    """How documents were compared, in words."""
    return f"{distance.name}, weights {weights}{'' if unknown == 'drop' else ', words without vectors kept'}"


def method_of(measure: Measure, ask: Ask) -> str:
    """What was done, in words."""
    method = described(measure.distance, measure.weights, measure.unknown)
    if ask.rerank is None:
        return method
    return f"{ask.candidates} candidates by {method}, ordered by {ask.rerank.distance.name}: not exact"


def queries_of(query: Any) -> tuple[Sequence[Any], bool]:
    """The queries of a call, and whether it was a single one: a text, or a tuple of tokens."""
    if isinstance(query, str):
        return [query], True
    query = as_documents(query, "query")
    if not isinstance(query, Sequence) and (hasattr(query, "to_list") or hasattr(query, "tolist")):
        query = list(query)  # a column of a table, or an array
    if isinstance(query, tuple) and query and all(isinstance(token, str) for token in query):
        return [query], True
    if isinstance(query, Sequence) and not isinstance(query, bytes):
        return query, False
    raise InputError(
        f"A query is a text, a tuple of tokens, or a list of texts or of token lists; got {type(query).__name__}"
        f"{undecoded(query)}."
    )


def query_tokens(query: Any, number: int, tokenizer: Tokenizer, split: Split = words_of) -> list[str]:
    """The words of one of several queries, as ``split`` finds them in texts, or an error that names it."""
    if isinstance(query, str):
        return split(query, tokenizer)
    if isinstance(query, Sequence) and all(isinstance(token, str) for token in query):
        return query if isinstance(query, LookedUp) else list(query)
    if not isinstance(query, Sequence | Mapping) and plain_value(query) is None:
        return []  # None, NaN and pandas' NA are texts without words
    raise InputError(f"Query {number} must be a text or a list of tokens, got {shown(query)}{undecoded(query)}.")


def compared_tokens(
    asked: Sequence[Any], tokenizer: Tokenizer, vocabulary: Vocabulary, measure: Measure, name: str | None = None
) -> list[LookedUp | EmptyDocumentError]:
    """The words of queries that are to be compared, each looked up once; or why one has none.

    ``name`` is the id of the document that is asked about, where it is one.
    """
    found: list[LookedUp | EmptyDocumentError] = []
    for number, query in enumerate(asked):
        words = looked_up(query_tokens(query, number, tokenizer), vocabulary)
        what = "The query" if name is None else f"The document {name!r}"
        if measure.unknown == "error" and words.others:
            raise unknown_word_error(what if len(asked) == 1 else f"Query {number}", next(iter(words.others)))
        if not words or (measure.unknown == "drop" and not words.bag):
            found.append(no_known_word(words, what) if words else no_word(query, what))
            continue
        words.text = query
        found.append(words)
    return found


def answerable(found: Sequence[LookedUp | EmptyDocumentError]) -> list[LookedUp]:
    """The queries that have words; for calls in which every one must have some."""
    for one in found:
        if isinstance(one, EmptyDocumentError):
            raise one
    return [one for one in found if isinstance(one, LookedUp)]
