"""What words weigh in a state of an index, and the documents as they are compared by those weights."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Int64Array, Neighbors
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare.distances import find_overlap
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.index import baselines, shortlist, weighed_lists, weighed_short
from wordferry.index.engine import Engine, one_word
from wordferry.index.frequencies import living, tokens_of
from wordferry.index.nearest import stacked
from wordferry.index.others import EMPTY, read_others
from wordferry.index.scale import Scale
from wordferry.index.snapshot import Snapshot
from wordferry.index.sums import Sums
from wordferry.index.totals import Totals
from wordferry.index.weighed_lists import WeighedQuery
from wordferry.index.weighed_state import State, Weighing, encoded_bags
from wordferry.texts import bow
from wordferry.texts.bow import Encoded, LookedUp
from wordferry.texts.weights import Weighting, weights_of_counts
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.typical import typical_distance

_KEPT = 2
_KEPT_STATES = 4


class WeighedEngine:
    """Compares with the living documents: through their lists, or with searchers of which the last few are kept."""

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
        self._states: OrderedDict[tuple[Any, ...], State] = OrderedDict()
        self._numbers: dict[str, int] = {}
        self._read: dict[str, Any] = EMPTY
        """The state whose words without a vector are among the numbers."""

    # -- weights ----------------------------------------------------------------------------------------------------

    def state(self, connection: sqlite3.Connection, snapshot: Snapshot, record: Distance, weighing: Weighing) -> State:
        """What words weigh in a snapshot; the tf-idf distances bring their own weights."""
        scheme = "idf" if record.tfidf else weighing.weights
        key = (snapshot.generation, scheme, weighing.keeps)
        with self._mutex:
            found = self._states.get(key)
            if found is None:
                found = self._weighed(connection, snapshot, Weighing(scheme, weighing.unknown))
                found.earlier.update(self._bases(key, snapshot))
                self._states[key] = found
            self._states.move_to_end(key)
            while len(self._states) > _KEPT_STATES or next(iter(self._states))[0] < snapshot.generation - 1:
                self._states.popitem(last=False)
            return found

    def _bases(self, key: tuple[Any, ...], snapshot: Snapshot) -> dict[Any, Sums]:
        """What is known of the parts of a snapshot from the last state with such weights."""
        same = [known for known in self._states if known[1:] == key[1:]]
        present = {part.key for part in snapshot.parts}
        found = self._states[max(same)].bases if same else {}
        return {name: sums for name, sums in found.items() if name in present}

    def _weighed(self, connection: sqlite3.Connection, snapshot: Snapshot, weighing: Weighing) -> State:
        if weighing.keeps and snapshot.state["others_checksum"] != self._read["others_checksum"]:
            rows = read_others(connection, snapshot.state, self._file, self._read if self._numbers else None)
            self._numbers.update((word, number) for number, word in rows)  # a number is never given to another word
            self._read = snapshot.state
        known, others = len(self._embeddings), int(snapshot.state["others"]) if weighing.keeps else 0
        if self._totals is not None:
            weighting = self._totals.weighting(weighing.weights, self._embeddings, others=weighing.keeps)
        else:
            weighting = self._fitted(snapshot, weighing, known, others)
        return State(weighing, weighting, Scale.of(weighting, known, others), self._numbers, self._embeddings)

    def _fitted(self, snapshot: Snapshot, weighing: Weighing, known: int, others: int) -> Weighting | None:
        """The scheme fitted on the living documents, from what is counted in each part."""
        df, tokens = np.zeros(known + others, dtype=np.int64), 0.0
        if weighing.weights in ("counts", "norm"):
            return weights_of_counts(weighing.weights, snapshot.documents, df, tokens, self._embeddings)
        found = self._engine.frequencies(snapshot)
        df[:known], df[known:] = found.known, found.others[:others]
        if weighing.weights == "bm25":
            tokens = sum(tokens_of(part, living(part, snapshot), others=weighing.keeps) for part in snapshot.parts)
        return weights_of_counts(weighing.weights, snapshot.documents, df, tokens, self._embeddings)

    # -- searching --------------------------------------------------------------------------------------------------

    def top_k(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        record: Distance,
        weighing: Weighing,
        asked: Sequence[LookedUp],
        k: int,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """The nearest rows of the snapshot, by (distance, row)."""
        state = self.state(connection, snapshot, record, weighing)
        if record.shared is not None and state.listed:
            some, workers = [state.asked(tokens) for tokens in asked], thread_count(threads)
            return baselines.nearest(snapshot, record, state.shared, some, k, mask, workers, progress)
        if record.by_centroids and state.listed:
            return self._by_centroids(snapshot, state, asked, k, mask, threads, progress)
        graph = self._engine.graph_at_hand(snapshot, record) if state.listed else None
        listed = graph is not None and not np.isnan(graph.c_max) and record.by_lists
        if graph is None or not (listed or shortlist.applies(record, snapshot, graph)):
            return self._among_all(connection, snapshot, record, weighing, asked, k, mask, threads, progress)
        found = []
        for number, tokens in enumerate(asked, start=1):
            ask = self._listed if listed else self._short
            near = ask(snapshot, state, record, graph, tokens, k, mask, threads)
            if near is None:
                near = self._among_all(connection, snapshot, record, weighing, [tokens], k, mask, threads)
            found.append(near)
            if progress is not None:
                progress(number, len(asked))
        return stacked(found)

    def _by_centroids(
        self,
        snapshot: Snapshot,
        state: State,
        asked: Sequence[LookedUp],
        k: int,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None,
    ) -> Neighbors:
        """Query by query through codes of what the documents weigh."""
        found = []
        for number, tokens in enumerate(asked, start=1):
            found.append(state.centroids.nearest(snapshot, state.asked(tokens), k, mask, thread_count(threads)))
            if progress is not None:
                progress(number, len(asked))
        return stacked(found)

    def _among_all(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        record: Distance,
        weighing: Weighing,
        asked: Sequence[LookedUp],
        k: int,
        mask: BoolArray | None,
        threads: int | None,
        progress: Progress | None = None,
    ) -> Neighbors:
        """Compare with every document, prepared in memory."""
        live = snapshot.live_rows()
        searcher = self.searcher(connection, snapshot, record, weighing)
        allowed = None if mask is None else mask[live]
        near = searcher.top_k(list(asked), k, mask=allowed, threads=threads, progress=progress)
        return near.renumbered(live)

    def _listed(
        self,
        snapshot: Snapshot,
        state: State,
        record: Distance,
        graph: RelatedWords,
        tokens: LookedUp,
        k: int,
        mask: BoolArray | None,
        threads: int | None,
    ) -> Neighbors | None:
        """The nearest by the distance that the lists compute."""
        words, workers = self._engine.listed_words(snapshot, graph), thread_count(threads)
        overlap = find_overlap(record, self._engine.overlap(record))
        query, others = WeighedQuery(words, state.scale, state.asked(tokens), overlap), state.weighing.keeps
        return weighed_lists.nearest(snapshot, query, state.scale, state.sums, k, mask, others=others, threads=workers)

    def _short(
        self,
        snapshot: Snapshot,
        state: State,
        record: Distance,
        graph: RelatedWords,
        tokens: LookedUp,
        k: int,
        mask: BoolArray | None,
        threads: int | None,
    ) -> Neighbors | None:
        """The nearest among the documents that the lists do not rule out; None where they rule out too few."""
        words = self._engine.listed_words(snapshot, graph)
        overlap = find_overlap(record, self._engine.overlap(record))
        far = typical_distance(self._embeddings) if state.weighing.keeps else 0.0
        words_asked = state.asked(tokens)
        bounds = weighed_short.bounds(snapshot, words, state.weighed, words_asked, record.name, overlap, far)

        def among(rows: Int64Array) -> Neighbors:
            some = self._some(snapshot, state, record, tokens, rows)
            return some.top_k([tokens], k, threads=threads).renumbered(rows)

        better = partial(weighed_short.walked, snapshot, words, state.weighed, words_asked, far)
        return shortlist.nearest(bounds, k, mask, among, better if shortlist.tightens(record, snapshot) else None)

    def _some(self, snapshot: Snapshot, state: State, record: Distance, tokens: LookedUp, rows: Int64Array) -> Searcher:
        """A searcher over some rows, for a query of these words."""
        bags, keeps = snapshot.bags_of(rows), state.weighing.keeps
        # Words that only the documents have need no more than a name of their own.
        names = {number: f"\0{number}" for number in np.unique(bags.others.words).tolist()} if keeps else {}
        if keeps:
            names |= {number: word for word in tokens.others if (number := state.number(word)) >= 0}
        encoded = encoded_bags(bags, self._embeddings, names, every=True)
        related, weights = self._engine.related(snapshot, record), state.weights_at(sorted(names))
        return self._searcher(encoded, record, related, weights, state.weighing, one_word(snapshot))

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

    def _made(
        self, connection: sqlite3.Connection, snapshot: Snapshot, record: Distance, weighing: Weighing
    ) -> Searcher:
        words = dict(read_others(connection, snapshot.state, self._file)) if weighing.keeps else {}
        encoded = encoded_bags(snapshot.live_bags(), self._embeddings, words, every=self._totals is not None)
        scheme: Any = "counts" if record.tfidf else weighing.weights
        if self._totals is not None:
            scheme = "idf" if record.tfidf else scheme
            scheme = self._totals.weighting(scheme, self._embeddings, others=weighing.keeps) or "counts"
        related = self._engine.related(snapshot, record)
        return self._searcher(encoded, record, related, scheme, weighing, one_word(snapshot))

    def _searcher(
        self,
        encoded: Encoded,
        record: Distance,
        related: RelatedWords | None,
        weights: Any,
        weighing: Weighing,
        words: Int64Array | None = None,
    ) -> Searcher:
        return Searcher(
            encoded,
            record,
            embeddings=self._embeddings,
            related=related,
            overlap=self._engine.overlap(record),
            weights=weights,
            unknown="match" if weighing.keeps else "drop",
            on_empty="keep",
            words=words,
        )

    # -- some documents alone ---------------------------------------------------------------------------------------

    def reranked(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        record: Distance,
        weighing: Weighing,
        asked: Sequence[LookedUp],
        near: Neighbors,
        k: int,
        threads: int | None,
    ) -> Neighbors:
        """The candidates of each query in the order of another distance; no other document is looked at."""
        related = self._engine.related(snapshot, record)
        if record.needs_related and (related is None or np.isnan(related.c_max)):
            searcher, live = self.searcher(connection, snapshot, record, weighing), snapshot.live_rows()
            masks = (np.isin(live, row) for row in near.indices)
            pairs = zip(asked, masks, strict=True)
            return stacked(
                [searcher.top_k([one], k, mask=mask, threads=threads).renumbered(live) for one, mask in pairs]
            )
        state, found = self.state(connection, snapshot, record, weighing), []
        for tokens, row in zip(asked, near.indices, strict=True):
            rows = np.sort(row[row >= 0])
            some = self._some(snapshot, state, record, tokens, rows)
            found.append(some.top_k([tokens], k, threads=threads).renumbered(rows))
        return stacked(found)

    def reasons(
        self, connection: sqlite3.Connection, snapshot: Snapshot, record: Distance, weighing: Weighing
    ) -> Callable[[Sequence[str], Sequence[str]], Explanation]:
        """Says of two texts, given as tokens, why they are as far apart as ``similar`` says; needs no connection."""
        related = self._engine.related(snapshot, record)
        if record.needs_related and (related is None or np.isnan(related.c_max)):
            return partial(_among, self.searcher(connection, snapshot, record, weighing))
        return partial(self._reason, self.state(connection, snapshot, record, weighing), related, record)

    def _reason(
        self,
        state: State,
        related: RelatedWords | None,
        record: Distance,
        one: Sequence[str],
        other: Sequence[str],
    ) -> Explanation:
        first, second = (bow.looked_up(text, self._embeddings.vocabulary) for text in (one, other))
        extra = sorted({*first.others, *second.others}) if state.weighing.keeps else []
        words = OpenVocabulary(self._embeddings.vocabulary)
        words.add_others(extra)
        encoded = bow.bags([second], words, on_empty="keep", unknown="match" if state.weighing.keeps else "drop")
        searcher = self._searcher(encoded, record, related, state.weights_for(extra), state.weighing)
        return explanation_of(searcher.problem([first], threads=1))

    def explained(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        texts: tuple[list[str], list[str]],
        record: Distance,
        *,
        weights: str | None = None,
        unknown: str | None = None,
    ) -> Explanation:
        """The same of two texts, with the index's own weights or others; the second need not be a document."""
        weighing = Weighing(weights or self._own.weights, unknown or self._own.unknown)
        return self.reasons(connection, snapshot, record, weighing)(*texts)


def _among(searcher: Searcher, one: Sequence[str], other: Sequence[str]) -> Explanation:
    """Why two texts differ, among all words of a collection that has too few for related words to leave any out."""
    both = searcher.problem([one, other], threads=1)
    return explanation_of(replace(both, y=both.x).part(slice(0, 1), slice(1, 2)))
