"""Comparing texts where words weigh more or less, and where words without vectors count: what ``similar`` does.

The living documents are prepared in memory for such a question, with the frequencies that they have together, and kept
until the index changes. Counts of the words with vectors alone need none of that: they are compared in their files.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Int64Array, Neighbors
from wordferry.base.runtime import ShowProgress, progress_for
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher
from wordferry.errors import InputError
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.index.engine import Engine
from wordferry.index.model import Hit, Hits
from wordferry.index.others import read_others
from wordferry.index.passages import best_passages
from wordferry.index.searching import Plan, document, found_documents, without
from wordferry.index.segments import Bags
from wordferry.index.snapshot import Snapshot
from wordferry.index.totals import Totals
from wordferry.texts.bow import Encoded, check_unknown
from wordferry.texts.weights import WEIGHTS
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary

if TYPE_CHECKING:
    from wordferry.index.index import Index

_KEPT = 2


@dataclass(frozen=True)
class Weighing:
    """What words count for, and whether those without a vector count."""

    weights: str
    unknown: str

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise InputError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}; got {self.weights!r}.")
        check_unknown(self.unknown)

    @property
    def plain(self) -> bool:
        """Whether documents can be compared as their files hold them."""
        return self.weights == "counts" and self.unknown == "drop"


class WeighedEngine:
    """Searchers over the living documents, of which the last few are kept."""

    def __init__(
        self, embeddings: Embeddings, engine: Engine, file: Path, own: Weighing, totals: Totals | None = None
    ) -> None:
        self._embeddings = embeddings
        self._totals = totals
        self._own = own
        self._engine = engine
        self._file = file
        self._mutex = Lock()
        self._searchers: OrderedDict[tuple[Any, ...], Searcher] = OrderedDict()

    def searcher(
        self, connection: sqlite3.Connection, snapshot: Snapshot, record: Distance, weighing: Weighing
    ) -> Searcher:
        """One searcher over the documents that are alive, in order."""
        key = (snapshot.generation, record.label, weighing)
        with self._mutex:
            found = self._searchers.get(key)
            if found is None:
                for known in [known for known in self._searchers if known[0] < snapshot.generation]:
                    del self._searchers[known]
                found = self._searchers[key] = self._made(connection, snapshot, record, weighing)
            self._searchers.move_to_end(key)
            while len(self._searchers) > _KEPT:
                self._searchers.popitem(last=False)
            return found

    def explained(
        self, connection: sqlite3.Connection, snapshot: Snapshot, texts: tuple[list[str], list[str]], record: Distance
    ) -> Explanation:
        """Why two texts, given as tokens, are as far apart as ``similar`` says; the second need not be a document."""
        both = self.searcher(connection, snapshot, record, self._own).problem(list(texts), threads=1)
        return explanation_of(replace(both, y=both.x).part(slice(0, 1), slice(1, 2)))

    def _made(
        self, connection: sqlite3.Connection, snapshot: Snapshot, record: Distance, weighing: Weighing
    ) -> Searcher:
        bags = snapshot.live_bags()
        keeps = weighing.unknown != "drop"
        words = dict(read_others(connection, snapshot.state, self._file)) if keeps else {}
        return Searcher(
            _encoded(bags, self._embeddings, words, every=self._totals is not None),
            record,
            embeddings=self._embeddings,
            related=self._engine.related(snapshot, record),
            overlap=self._engine.overlap(record),
            weights=self._weights(record, weighing.weights, keeps),
            unknown="match" if keeps else "drop",
            on_empty="keep",
        )

    def _weights(self, record: Distance, scheme: str, others: bool) -> Any:
        """The scheme, to be fitted on the documents, or as fitted on all shards."""
        scheme = "counts" if record.tfidf else scheme
        if self._totals is None:
            return scheme
        found = self._totals.weighting("idf" if record.tfidf else scheme, self._embeddings, others=others)
        return "counts" if found is None else found


def _encoded(bags: Bags, embeddings: Embeddings, words: dict[int, str], *, every: bool = False) -> Encoded:
    """Documents with columns for words without vectors behind those of the others.

    ``every`` word has a column, where the weights are those of a larger collection; else only the documents' own.
    """
    used = np.unique(bags.others.words) if words and not every else np.array(sorted(words), dtype=np.int32)
    vocabulary = OpenVocabulary(embeddings.vocabulary, (words[number] for number in used.tolist()))
    shape = (len(bags), len(embeddings))
    known = sp.csr_array((bags.counts.astype(np.int32), bags.words, bags.indptr), shape=shape)
    tokens = known_tokens = np.asarray(known.sum(axis=1)).astype(np.int64)
    matrix, unknown = known, Counter[str]()
    if len(used):
        places = np.searchsorted(used, bags.others.words).astype(np.int32)
        values = (bags.others.counts.astype(np.int32), places, bags.others.indptr)
        others = sp.csr_array(values, shape=(len(bags), len(used)))
        matrix = sp.csr_array(sp.hstack([known, others], format="csr"))
        tokens = known_tokens + np.asarray(others.sum(axis=1)).astype(np.int64)
        totals = np.bincount(places, weights=bags.others.counts, minlength=len(used))
        unknown.update({words[n]: int(total) for n, total in zip(used.tolist(), totals.tolist(), strict=True)})
    rows = np.arange(len(bags))
    return Encoded(matrix, rows, tokens, known_tokens, unknown, len(bags), vocabulary)


def run(
    index: Index,
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    plan: Plan,
    weighing: Weighing,
    asked: Sequence[Sequence[str]],
    threads: int | None,
    progress: ShowProgress,
) -> list[Hits]:
    """The hits of every query, given as tokens."""
    words = "" if weighing.unknown == "drop" else ", words without vectors kept"
    method = f"{plan.record.name}, weights {weighing.weights}{words}"
    if plan.rerank is not None:
        method = f"{plan.candidates} candidates by {method}, ordered by {plan.rerank.name}: not exact"
    options: dict[str, Any] = {"method": method, "exact": plan.rerank is None}
    mask = without(connection, snapshot, snapshot.allowed(plan.condition), plan.without)
    if not snapshot.documents or not asked or (mask is not None and not mask.any()):
        return [Hits(**options) for _ in asked]
    live = snapshot.live_rows()
    allowed = None if mask is None else mask[live]
    searcher = index.weighed.searcher(connection, snapshot, plan.record, weighing)
    k = min(plan.k if plan.rerank is None else plan.candidates, len(live))
    tell = progress_for(progress, "searching")
    near = searcher.top_k(list(asked), k, mask=allowed, threads=threads, progress=tell)
    if plan.rerank is not None:
        searcher = index.weighed.searcher(connection, snapshot, plan.rerank, weighing)
        near = _reranked(searcher, asked, near, min(plan.k, len(live)), len(live), threads)
    found = live[np.unique(near.indices[near.indices >= 0])]
    rows = found_documents(index, connection, snapshot, found)
    return [
        _hits(searcher, tokens, row, live, rows, plan.explain, partial(best_passages, index, snapshot, tokens), options)
        for tokens, row in zip(asked, near, strict=True)
    ]


def _reranked(
    searcher: Searcher, asked: Sequence[Any], near: Neighbors, k: int, documents: int, threads: int | None
) -> Neighbors:
    """The candidates of each query in the order of the second distance."""
    found = []
    for tokens, row in zip(asked, near.indices, strict=True):
        mask = np.zeros(documents, dtype=bool)
        mask[row[row >= 0]] = True
        found.append(searcher.top_k([tokens], k, mask=mask, threads=threads))
    return Neighbors(np.concatenate([one.indices for one in found]), np.concatenate([one.distances for one in found]))


def _hits(
    searcher: Searcher,
    tokens: Sequence[str],
    near: tuple[Int64Array, Any],
    live: Int64Array,
    rows: dict[int, tuple[Any, ...]],
    explain: bool,
    passages: Callable[..., list[Any]],
    options: dict[str, Any],
) -> Hits:
    hits = []
    for place, distance in zip(*(values.tolist() for values in near), strict=True):
        if place < 0:
            continue
        found = document(rows[int(live[place])])
        why = partial(_reason, searcher, tokens, place, distance)
        reason = why() if explain else None
        own = (found.id, found.text, found.metadata, found.label)
        hits.append(Hit(*own, distance, explanation=reason, why=why, where=partial(passages, found.text)))
    return Hits(hits, **options)


def _reason(searcher: Searcher, tokens: Sequence[str], place: int, distance: float) -> Any:
    """Which word moved where; None for a document without words."""
    if np.isinf(distance):
        return None
    problem = searcher.problem([tokens], threads=1)
    return explanation_of(problem.part(slice(0, 1), slice(place, place + 1)))
