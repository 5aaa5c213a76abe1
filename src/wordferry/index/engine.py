"""Searching a snapshot: prepared collections are remembered, so that a query pays only for itself."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

import scipy.sparse as sp

from wordferry.base.arrays import BoolArray, Neighbors
from wordferry.base.runtime import Progress
from wordferry.compare.distances import find_overlap
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher
from wordferry.index.graph import Graphs
from wordferry.index.segments import Bags
from wordferry.index.snapshot import Snapshot, matrix_of
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_KEPT = 6
Rows = tuple[Any, ...]
"""Which documents: "segments", "buffer" or "live", and which state of them."""
Key = tuple[str, Rows, Any]
"""The distance, the documents, and the words of the graph where one is needed."""


class Engine:
    """Makes searchers over the documents of snapshots and remembers the last few."""

    def __init__(self, embeddings: Embeddings, graphs: Graphs, overlap: str | None) -> None:
        self._embeddings = embeddings
        self._graphs = graphs
        self._overlap = overlap
        self._mutex = Lock()
        self._searchers: OrderedDict[Key, Searcher] = OrderedDict()

    def related(self, snapshot: Snapshot, record: Distance) -> RelatedWords | None:
        """The related words of the snapshot's words, where the distance needs them."""
        return self.graph(snapshot) if record.needs_related else None

    def graph(self, snapshot: Snapshot) -> RelatedWords | None:
        """The related words of the snapshot's words; None for a snapshot without any."""
        return self._graphs.get(snapshot.words, snapshot.epoch, snapshot.graph) if len(snapshot.words) else None

    def overlap(self, record: Distance) -> str | None:
        """The overlap chosen at creation, for the distances that know it."""
        return self._overlap if self._overlap in record.overlaps else None

    def top_k(
        self,
        snapshot: Snapshot,
        queries: sp.csr_array,
        k: int,
        record: Distance,
        *,
        mask: BoolArray | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """The nearest rows of the snapshot, by (distance, row); rows that the mask forbids are never found."""
        k = min(k, len(snapshot.numbers))
        if record.tfidf:  # the frequencies are those of the living documents together
            return self._top_k_live(snapshot, queries, k, record, mask, threads)
        found = []
        for part in snapshot.parts:
            searcher = self._searcher(part.key, part.bags, snapshot, record)
            allowed = None if mask is None else mask[part.span]
            near = searcher.top_k(queries, k, mask=allowed, threads=threads, progress=progress)
            found.append(near.shifted(part.start))
        return Neighbors.merge(found, k)

    def _top_k_live(
        self,
        snapshot: Snapshot,
        queries: sp.csr_array,
        k: int,
        record: Distance,
        mask: BoolArray | None,
        threads: int | None,
    ) -> Neighbors:
        rows = snapshot.live_rows()
        allowed = None if mask is None else mask[rows]
        near = self.live_searcher(snapshot, record).top_k(queries, k, mask=allowed, threads=threads)
        return near.renumbered(rows)

    def live_searcher(self, snapshot: Snapshot, record: Distance) -> Searcher:
        """One searcher over the documents that are alive, in order."""
        return self._searcher(("live", snapshot.generation), snapshot.live_bags(), snapshot, record)

    def bound_searcher(self, snapshot: Snapshot, record: Distance) -> Searcher | None:
        """A searcher for a cheaper distance that never exceeds this one; None where there is no such distance."""
        bounds = record.bounds(find_overlap(record, self.overlap(record)))
        if not bounds:
            return None
        bound, overlap = bounds[0]
        return Searcher(
            matrix_of(snapshot.live_bags(), len(self._embeddings)),
            bound,
            embeddings=self._embeddings,
            related=self.related(snapshot, bound),
            overlap=overlap,
            on_empty="keep",
        )

    def _searcher(self, rows: Rows, bags: Bags, snapshot: Snapshot, record: Distance) -> Searcher:
        words = (snapshot.epoch, len(snapshot.words)) if record.needs_related else None
        key = (record.name, rows, words)
        with self._mutex:
            found = self._searchers.get(key)
            if found is None:
                found = self._made(key, bags, snapshot, record)
                self._forget_relatives(key)
                self._searchers[key] = found
            self._searchers.move_to_end(key)
            return found

    def _made(self, key: Key, bags: Bags, snapshot: Snapshot, record: Distance) -> Searcher:
        """A new searcher; one over the same documents and fewer words is taken over."""
        related = self.related(snapshot, record)
        same = next((s for known, s in self._searchers.items() if known[:2] == key[:2]), None)
        if same is not None and related is not None:
            return same.with_related(related)
        return Searcher(
            matrix_of(bags, len(self._embeddings)),
            record,
            embeddings=self._embeddings,
            related=related,
            overlap=self.overlap(record),
            on_empty="keep",
        )

    def _forget_relatives(self, key: Key) -> None:
        """Make room: an earlier state of the same documents goes first."""
        for known in list(self._searchers):
            if known[0] == key[0] and known[1][0] == key[1][0]:
                del self._searchers[known]
        while len(self._searchers) >= _KEPT:
            self._searchers.popitem(last=False)
