"""Searching a snapshot: prepared collections are remembered, so that a query pays only for itself."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Int64Array, Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare.distances import find_overlap
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher
from wordferry.index import baselines, shortlist
from wordferry.index.asked import Asked
from wordferry.index.centroids import Centroids
from wordferry.index.frequencies import Frequencies, LivingFrequencies
from wordferry.index.graph import Graphs
from wordferry.index.nearest import nearest_panel, nearest_to_nothing, stacked
from wordferry.index.query_words import Words
from wordferry.index.segments import Bags
from wordferry.index.snapshot import Snapshot, matrix_of
from wordferry.index.totals import Totals
from wordferry.kernels.related_lists import PANEL
from wordferry.texts.bow import TfIdf
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_KEPT = 6
Rows = tuple[Any, ...]
"""Which documents: a "segment" by its name, or the "buffer" or all that "live" in one state."""
Key = tuple[str, Rows, Any]
"""The distance, the documents, and the words of the graph where one is needed."""


class Engine:
    """Makes searchers over the documents of snapshots and remembers the last few."""

    def __init__(
        self, embeddings: Embeddings, graphs: Graphs, overlap: str | None, totals: Totals | None = None
    ) -> None:
        self._embeddings = embeddings
        self._totals = totals
        self._graphs = graphs
        self._overlap = overlap
        self._mutex = Lock()
        self._searchers: OrderedDict[Key, Searcher] = OrderedDict()
        self._building: dict[Key, Lock] = {}
        self._words: tuple[tuple[int, int], Words] | None = None
        self._centroids = Centroids(embeddings)
        self._baselines = baselines.Baselines(len(embeddings))
        self._frequencies = LivingFrequencies(len(embeddings))
        self._idf: tuple[int, TfIdf] | None = None

    def related(self, snapshot: Snapshot, record: Distance) -> RelatedWords | None:
        """The related words of the snapshot's words, where the distance needs them."""
        return self.graph(snapshot) if record.needs_related else None

    def graph(self, snapshot: Snapshot) -> RelatedWords | None:
        """The related words of the snapshot's words; None for a snapshot without any."""
        if not len(snapshot.words):
            return None
        return self._graphs.get_to_search(snapshot.words, snapshot.epoch, snapshot.graph)

    def idf(self, snapshot: Snapshot) -> TfIdf:
        """The weights of words in the living documents, or in all shards."""
        if self._totals is not None:
            return self._totals.idf
        with self._mutex:
            if self._idf is None or self._idf[0] != snapshot.generation:
                df = self._frequencies.of(snapshot).known
                self._idf = snapshot.generation, TfIdf.of_counts(snapshot.documents, df)
            return self._idf[1]

    def frequencies(self, snapshot: Snapshot) -> Frequencies:
        """In how many of the living documents each word stands."""
        with self._mutex:
            return self._frequencies.of(snapshot)

    def overlap(self, record: Distance) -> str | None:
        """The overlap chosen at creation, for the distances that know it."""
        return self._overlap if self._overlap in record.overlaps else None

    def top_k(
        self,
        snapshot: Snapshot,
        queries: Asked,
        k: int,
        record: Distance,
        *,
        mask: BoolArray | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """The nearest rows of the snapshot, by (distance, row); rows that the mask forbids are never found."""
        k = min(k, len(snapshot.numbers))
        if record.shared is not None:
            weights = self._baselines.weights(self.idf(snapshot) if record.tfidf else None)
            asked = [baselines.asked_of(*row) for row in queries.counted()]
            return baselines.nearest(snapshot, record, weights, asked, k, mask, thread_count(threads), progress)
        if record.by_centroids:
            return self._top_k_centroids(snapshot, queries, k, mask, threads, progress)
        related = self.related(snapshot, record) if record.by_lists else None
        if related is not None and not math.isnan(related.c_max):
            return self._top_k_lists(snapshot, related, queries, k, record, mask, threads, progress)
        graph = self.graph_at_hand(snapshot, record)
        if shortlist.applies(record, snapshot, graph):
            assert graph is not None
            return self._top_k_short(snapshot, graph, queries, k, record, mask, threads, progress)
        return self._top_k_parts(snapshot, queries, k, record, mask, threads, progress)

    def _top_k_centroids(
        self,
        snapshot: Snapshot,
        queries: Asked,
        k: int,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """Query by query through the codes of the centroids."""
        self._centroids.forget(snapshot.parts)
        found = []
        for number, (ids, masses) in enumerate(queries.rows()):
            if len(ids):
                found.append(self._centroids.nearest(snapshot, ids, masses, k, mask, thread_count(threads)))
            else:
                found.append(nearest_to_nothing(snapshot, k, mask))
            if progress is not None:
                progress(number + 1, len(queries))
        return stacked(found)

    def _top_k_parts(
        self,
        snapshot: Snapshot,
        queries: Asked,
        k: int,
        record: Distance,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """Every document of every part, each part prepared once."""
        found = []
        for part in snapshot.parts:
            searcher = self._searcher(part.key, lambda: part.bags, snapshot, record)  # noqa: B023 - called at once
            allowed = None if mask is None else mask[part.span]
            near = searcher.top_k(queries.matrix, k, mask=allowed, threads=threads, progress=progress)
            found.append(near.shifted(part.start))
        return Neighbors.merge(found, k)

    def _top_k_lists(
        self,
        snapshot: Snapshot,
        related: RelatedWords,
        queries: Asked,
        k: int,
        record: Distance,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """Query by query through the inverted lists; nothing is prepared but the words."""
        words = self._words_of(snapshot, related)
        overlap = find_overlap(record, self.overlap(record))
        workers, rows, sizes = thread_count(threads), list(queries.rows()), queries.sizes
        order = sorted(range(len(rows)), key=lambda number: sizes[number] == 0)  # queries without words come last
        full, found = sum(size > 0 for size in sizes), []
        for start in range(0, full, PANEL):
            panel = (rows[number] for number in order[start : min(start + PANEL, full)])
            some = [words.query(ids, masses, overlap) for ids, masses in panel]
            found.append(nearest_panel(snapshot, some, k, mask, workers))
            if progress is not None:
                progress(min(start + PANEL, full), len(rows))
        found += [nearest_to_nothing(snapshot, k, mask) for _ in range(full, len(rows))]
        if len(rows) == 1:
            return found[0]
        near, back = stacked(found), np.argsort(order)
        return replace(near, indices=near.indices[back], distances=near.distances[back])

    def graph_at_hand(self, snapshot: Snapshot, record: Distance) -> RelatedWords | None:
        """The related words, where the distance needs them or they are stored anyway."""
        stored = snapshot.graph is not None and snapshot.graph["epoch"] == snapshot.epoch
        return self.graph(snapshot) if record.needs_related or stored else None

    def _top_k_short(
        self,
        snapshot: Snapshot,
        graph: RelatedWords,
        queries: Asked,
        k: int,
        record: Distance,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """Query by query, comparing with what the lists do not rule out; with everything where that is too much."""
        words = self._words_of(snapshot, graph)
        overlap = find_overlap(record, self.overlap(record))
        found = []
        for number, (ids, masses) in enumerate(queries.rows()):
            one = queries[number]

            def near_among(rows: Int64Array, one: Asked = one) -> Neighbors:
                bags = matrix_of(snapshot.bags_of(rows), len(self._embeddings))
                near = self._new_searcher(bags, snapshot, record).top_k(one.matrix, k, threads=threads)
                return near.renumbered(rows)

            near = None
            if len(ids):
                bounds = shortlist.bounds_of(snapshot, words, (ids, masses), record.name, overlap)
                better = partial(shortlist.walked, snapshot, words, ids)
                near = shortlist.nearest(
                    bounds, k, mask, near_among, better if shortlist.tightens(record, snapshot) else None
                )
            if near is None:
                near = self._top_k_parts(snapshot, one, k, record, mask, threads, None)
            found.append(near)
            if progress is not None:
                progress(number + 1, len(queries))
        return stacked(found)

    def listed_words(self, snapshot: Snapshot, related: RelatedWords) -> Words:
        """The words of a snapshot, ready for queries through the lists."""
        return self._words_of(snapshot, related)

    def _words_of(self, snapshot: Snapshot, related: RelatedWords) -> Words:
        key = (snapshot.epoch, len(snapshot.words))
        with self._mutex:
            if self._words is None or self._words[0] != key:
                self._words = key, Words(self._embeddings, related, snapshot.words)
            return self._words[1]

    def live_searcher(self, snapshot: Snapshot, record: Distance) -> Searcher:
        """One searcher over the documents that are alive, in order."""
        return self._searcher(("live", snapshot.generation), snapshot.live_bags, snapshot, record)

    def _searcher(self, rows: Rows, bags: Callable[[], Bags], snapshot: Snapshot, record: Distance) -> Searcher:
        words = (snapshot.epoch, len(snapshot.words)) if record.needs_related else None
        key = (record.name, rows, words)
        with self._mutex:
            found = self._searchers.get(key)
            if found is not None:
                self._searchers.move_to_end(key)
                return found
            building = self._building.setdefault(key, Lock())
        with building:  # who has a searcher, or needs another one, does not wait for this one
            with self._mutex:
                found = self._searchers.get(key)
            if found is None:
                found = self._made(key, bags(), snapshot, record)
            with self._mutex:
                self._building.pop(key, None)
                self._forget(key, snapshot)
                self._searchers[key] = found
            return found

    def _made(self, key: Key, bags: Bags, snapshot: Snapshot, record: Distance) -> Searcher:
        """A new searcher; one over the same documents and fewer words is taken over."""
        related = self.related(snapshot, record)
        with self._mutex:
            same = next((s for known, s in self._searchers.items() if known[:2] == key[:2]), None)
        if same is not None and related is not None:
            return same.with_related(related)
        return self._new_searcher(matrix_of(bags, len(self._embeddings)), snapshot, record)

    def _new_searcher(self, matrix: sp.csr_array, snapshot: Snapshot, record: Distance) -> Searcher:
        return Searcher(
            matrix,
            record,
            idf=self._totals.idf if record.tfidf and self._totals is not None else None,
            words=one_word(snapshot),
            embeddings=self._embeddings,
            related=self.related(snapshot, record),
            overlap=self.overlap(record),
            on_empty="keep",
        )

    def _forget(self, key: Key, snapshot: Snapshot) -> None:
        """Make room: what belongs to no part of the present state goes, then what was not used for longest."""
        present = {part.key for part in snapshot.parts} | {("live", snapshot.generation)}
        for known in list(self._searchers):
            if known[1] not in present or known[:2] == key[:2]:
                del self._searchers[known]
        while len(self._searchers) >= _KEPT * max(1, len(snapshot.parts)):
            self._searchers.popitem(last=False)


def one_word(snapshot: Snapshot) -> Int64Array:
    """A word of the index, which is put among those of the documents that are compared: they may have no other.

    Words are joined to words that have related ones, and of those there must be one at least.
    """
    return snapshot.words[:1]
