"""What words weigh in a state of an index, and the documents as they are compared by those weights."""

from __future__ import annotations

import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import BoolArray, Int64Array, Neighbors
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare.distances import find_overlap
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher
from wordferry.errors import InputError
from wordferry.explanations.explain import Explanation, explanation_of
from wordferry.index import baselines, weighed_lists
from wordferry.index.engine import Engine
from wordferry.index.frequencies import living, tokens_of
from wordferry.index.nearest import stacked
from wordferry.index.others import EMPTY, read_others
from wordferry.index.segments import Bags
from wordferry.index.snapshot import Part, Snapshot
from wordferry.index.totals import Totals
from wordferry.index.weighed_lists import Asked, Scale, Sums, WeighedQuery
from wordferry.texts import bow
from wordferry.texts.bow import Encoded, LookedUp, check_unknown
from wordferry.texts.weights import WEIGHTS, Weighting, weights_of_counts
from wordferry.words.embeddings import Embeddings
from wordferry.words.open_vocabulary import OpenVocabulary
from wordferry.words.related.graph import RelatedWords

_KEPT = 2
_KEPT_STATES = 4


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

    @property
    def keeps(self) -> bool:
        """Whether words without a vector count."""
        return self.unknown != "drop"


@dataclass(frozen=True, eq=False)
class State:
    """What words weigh in one state of an index."""

    weighing: Weighing
    weighting: Weighting | None
    """None for plain counts."""
    scale: Scale
    numbers: dict[str, int]
    """The index's numbers of words without a vector; words that came later have numbers beyond those of the scale."""
    _sums: dict[Any, Sums] = field(default_factory=dict)

    def sums(self, part: Part) -> Sums:
        """The sums of the documents of a part, made when they are first asked for."""
        found = self._sums.get(part.key)
        if found is None:
            found = self._sums[part.key] = Sums(part, self.scale, others=self.weighing.keeps)
        return found

    @property
    def listed(self) -> bool:
        """Whether stored lists serve as they are: a weight is a factor for each word, and none is 0."""
        return self.weighing.weights in weighed_lists.SCHEMES and self.scale.positive

    @cached_property
    def shared(self) -> baselines.Weights:
        """The same for the distances that shared words decide."""
        return baselines.Weights(self.weighting, self.scale, others=self.weighing.keeps)

    def number(self, word: str) -> int:
        """The number of a word without a vector; -1 for one that this state does not know."""
        found = self.numbers.get(word, -1)
        return found if found < len(self.scale.others) else -1

    def asked(self, tokens: LookedUp) -> Asked:
        """The words of a query that count."""
        ids = sorted(tokens.bag)
        numbered = {word: self.number(word) for word in tokens.others} if self.weighing.keeps else {}
        inside = sorted((number, tokens.others[word]) for word, number in numbered.items() if number >= 0)
        new = [tokens.others[word] for word, number in numbered.items() if number < 0]
        return Asked(
            np.array(ids, dtype=np.int64),
            np.array([tokens.bag[i] for i in ids], dtype=np.float64),
            np.array([number for number, _ in inside], dtype=np.int64),
            np.array([count for _, count in inside], dtype=np.float64),
            np.array(new, dtype=np.float64),
        )

    def weights_for(self, extra: Sequence[str]) -> Any:
        """The weights as a searcher takes them whose words without a vector are these, in this order."""
        if self.weighting is None:
            return "counts"
        others = [self.scale.others[n] if (n := self.number(word)) >= 0 else self.scale.unseen for word in extra]
        per_word = np.concatenate([self.scale.known, np.array(others, dtype=np.float64)])
        given = self.weighting
        return Weighting(given.scheme, per_word, given.unseen, given.documents, given.mean_length)


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
                found = self._states[key] = self._weighed(connection, snapshot, Weighing(scheme, weighing.unknown))
            self._states.move_to_end(key)
            while len(self._states) > _KEPT_STATES or next(iter(self._states))[0] < snapshot.generation - 1:
                self._states.popitem(last=False)
            return found

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
        return State(weighing, weighting, Scale.of(weighting, known, others), self._numbers)

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
        related = self._engine.related(snapshot, record)
        state = self.state(connection, snapshot, record, weighing)
        if record.shared is not None and state.listed:
            some, workers = [state.asked(tokens) for tokens in asked], thread_count(threads)
            return baselines.nearest(snapshot, record, state.shared, some, k, mask, workers, progress)
        if record.by_lists and state.listed and related is not None and not np.isnan(related.c_max):
            words = self._engine.listed_words(snapshot, related)
            overlap, workers = find_overlap(record, self._engine.overlap(record)), thread_count(threads)
            found = []
            for number, tokens in enumerate(asked, start=1):
                query = WeighedQuery(words, state.scale, state.asked(tokens), overlap)
                near = weighed_lists.nearest(
                    snapshot, query, state.scale, state.sums, k, mask, others=weighing.keeps, threads=workers
                )
                found.append(near)
                if progress is not None:
                    progress(number, len(asked))
            return stacked(found)
        live = snapshot.live_rows()
        searcher = self.searcher(connection, snapshot, record, weighing)
        allowed = None if mask is None else mask[live]
        near = searcher.top_k(list(asked), k, mask=allowed, threads=threads, progress=progress)
        return near.renumbered(live)

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
        encoded = _encoded(snapshot.live_bags(), self._embeddings, words, every=self._totals is not None)
        scheme: Any = "counts" if record.tfidf else weighing.weights
        if self._totals is not None:
            scheme = "idf" if record.tfidf else scheme
            scheme = self._totals.weighting(scheme, self._embeddings, others=weighing.keeps) or "counts"
        every = None if self._totals is None else self._totals.words(others=weighing.keeps)
        return self._searcher(encoded, record, self._engine.related(snapshot, record), scheme, weighing, every)

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
            bags = snapshot.bags_of(rows)
            used = set(np.unique(bags.others.words).tolist()) if weighing.keeps else set()
            used |= {number for word in tokens.others if weighing.keeps and (number := state.number(word)) >= 0}
            encoded = _encoded(bags, self._embeddings, _names(connection, sorted(used)), every=True)
            extra = encoded.vocabulary.extra if isinstance(encoded.vocabulary, OpenVocabulary) else ()
            searcher = self._searcher(encoded, record, related, state.weights_for(extra), weighing)
            found.append(searcher.top_k([tokens], k, threads=threads).renumbered(rows))
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


def _names(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, str]:
    """The words without a vector that have these numbers."""
    query = "SELECT word FROM others WHERE number = ?"
    return {number: connection.execute(query, (number,)).fetchone()[0] for number in numbers}


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
    rows: Int64Array = np.arange(len(bags))
    return Encoded(matrix, rows, tokens, known_tokens, unknown, len(bags), vocabulary)
