"""One state of an index as a search sees it: everything that follows from the state and from what words weigh in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array, Neighbors
from wordferry.base.runtime import Progress
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Distance
from wordferry.index.search.costs import WordCosts
from wordferry.index.search.weights import FREQUENCY_FREE, QueryWords, WordWeights, fit_weights
from wordferry.index.search.words import CollectionStatistics
from wordferry.index.storage.catalogue import Database
from wordferry.index.storage.graph import Graphs
from wordferry.index.storage.snapshot import Part, Snapshot
from wordferry.index.storage.stored_weights import LOST, SCHEME, StoredWeights, add_frequencies, large
from wordferry.index.storage.terms import find_terms
from wordferry.kernels.lists import COUNTS, Touched, WeighedDocuments, bounds
from wordferry.texts.bow import looked_up
from wordferry.words.related.graph import RelatedWords
from wordferry.words.related.typical import typical_distance

_Made = TypeVar("_Made")
_KEPT = 4
_ROUNDING = 1e-5
"""More than sums of what words have lost may be off in float32, relative to them."""


@dataclass(frozen=True, eq=False)
class DocumentWeights:
    """What the documents of a part weigh: the sums over their words."""

    sums: Float64Array
    short: Float32Array
    """The sums in float32."""
    native: WeighedDocuments


@dataclass(frozen=True)
class Request:
    """One search by a distance, down to what strategies need."""

    distance: Distance
    overlap: str
    k: int
    mask: BoolArray | None
    """Rows that may be found; None for all."""
    threads: int
    progress: Progress | None = None

    def ranked(self, rows: Int64Array, distances: Float32Array, evaluated: int | None = None) -> Neighbors:
        """Rows and their distances to each query by (distance, row), -1 and infinity where there are fewer than k."""
        best = np.lexsort((np.broadcast_to(rows, distances.shape), distances), axis=1)[:, : self.k]
        counts = {"postings": 0, "evaluated": distances.size if evaluated is None else evaluated}
        return Neighbors(rows[best], np.take_along_axis(distances, best, axis=1), counts=counts).resized(self.k)


class View:
    """One state of an index and one weighting; what is derived from both is made when first needed, and kept."""

    def __init__(self, snapshot: Snapshot, weights: WordWeights, source: ViewSource) -> None:
        self.snapshot, self.weights = snapshot, weights
        self.embeddings = snapshot.embeddings
        self._source = source
        self._kept: dict[Any, Any] = {}
        self._making: dict[Any, Lock] = {}

    def kept(self, part: Part | None, name: Any, made: Callable[[], _Made]) -> _Made:
        """Something that belongs to a part, or to the whole, made by ``made()`` when it is first asked for."""
        key = (name, None if part is None else part.key)
        found: _Made | None = self._kept.get(key)
        if found is None:
            with self._making.setdefault(key, Lock()):  # who needs something else does not wait for this
                found = self._kept.get(key)
                if found is None:
                    found = self._kept[key] = made()
        return found

    def take_over(self, earlier: View) -> None:
        """Keep what an earlier view has of parts that are still there, where words weigh the same in both."""
        present = {part.key for part in self.snapshot.parts}
        self._kept |= {key: value for key, value in earlier._kept.copy().items() if key[1] in present}

    def documents(self, part: Part) -> DocumentWeights:
        """What the documents of a part weigh."""

        def made() -> DocumentWeights:
            sums = self.weights.sums(part)
            short = sums.astype(np.float32)
            return DocumentWeights(sums, short, self._weighed(part, short, sums, np.zeros(0, np.float32)))

        return self.kept(part, "documents", made)

    def norms(self, part: Part) -> Float32Array:
        """The Euclidean length of each document of a part, over the weights of its words."""
        stored = self.snapshot.weights
        if stored is not None and self.weights.per_word is stored.weights and part.key[1] in stored.documents:
            return stored.documents[part.key[1]][1]
        return self.kept(part, "norms", lambda: np.sqrt(self.weights.sums(part, squared=True)).astype(np.float32))

    def _weighed(self, part: Part, totals: Float32Array, exact: Float64Array, norms: Float32Array) -> WeighedDocuments:
        longest, repeats = float(part.rows.lengths.max(initial=0)), self.weights.repeats(part)
        return WeighedDocuments(part.rows.stored, totals, exact, norms, longest, repeats)

    def natives(self, *, blended: bool) -> list[WeighedDocuments]:
        """All documents, with the norms that bounds of a share of cosine need where ``blended``."""

        def made(part: Part) -> WeighedDocuments:
            least = self._least(part)
            if least is not None:
                return self._weighed(part, least[0], np.zeros(0), least[1])
            own = self.documents(part)
            return self._weighed(part, own.short, own.sums, self.norms(part)) if blended else own.native

        return self.kept(None, ("natives", blended), lambda: [made(part) for part in self.snapshot.parts])

    def _least(self, part: Part) -> tuple[Float32Array, Float32Array] | None:
        """What documents and their norms weigh at least, by stored weights of this state or an earlier one."""
        stored = self.snapshot.weights
        if stored is None or part.key[1] not in stored.documents:
            return None
        sums, norms = stored.documents[part.key[1]]
        if self.weights.per_word is stored.weights:
            return sums, norms
        if self._lost is None:
            return None
        share, touched = self._lost

        def made() -> tuple[Float32Array, Float32Array]:
            more, _ = bounds(part.rows.lists.view, *touched, np.ones(len(sums), np.float32), COUNTS, 0.0, 1)
            more *= np.float32(1 + _ROUNDING)
            kept, least = np.float32(1 - LOST - _ROUNDING), np.float32(share * (1 - _ROUNDING))
            return np.maximum(sums * kept + more, sums * least), np.maximum(norms * kept + more, norms * least)

        return self.kept(part, "least", made)

    @cached_property
    def _lost(self) -> tuple[float, Touched] | None:
        """How much less words weigh than the stored weights say; None where these are of no use."""
        stored, weights = self.snapshot.weights, self.weights
        if stored is None or not stored.is_by(weights.weighting.scheme, weights.keeps):
            return None
        return stored.lost(weights.per_word)

    @cached_property
    def longest(self) -> int:
        """The number of different words of the longest document."""
        return max((part.rows.longest for part in self.snapshot.parts), default=0)

    @cached_property
    def graph(self) -> RelatedWords | None:
        """The related words of the index's words; None where no word has a vector."""
        return self._source.graph(self.snapshot)

    @cached_property
    def costs(self) -> WordCosts:
        """What words cost that move; for a state in which some word has a vector."""
        assert self.graph is not None
        return self._source.costs(self.snapshot, self.graph)

    @cached_property
    def far(self) -> float:
        """How far words without a vector are from others; 0 where they do not count."""
        return typical_distance(self.embeddings) if self.weights.keeps else 0.0

    def words(self, connection: Database, tokens: Sequence[str]) -> QueryWords:
        """The words of a text that count, by their numbers; what was looked up in another state is so again."""
        known, terms = looked_up(tokens, self.embeddings.vocabulary), self.snapshot.terms
        size, number_of = terms.size, terms.number_of
        rows = sorted(known.bag)
        others = list(known.others) if self.weights.keeps else []
        found = {word: number for number, word in find_terms(connection, "word", others)}
        inside = sorted((found[word], word) for word in others if found.get(word, size) < size)
        new = [word for word in others if found.get(word, size) >= size]
        behind = size + len(new)
        numbers = [int(number_of[row]) if row < len(number_of) else -1 for row in rows]
        numbers = [n if n >= 0 else behind + place for place, n in enumerate(numbers)]
        names = [*(word for _, word in inside), *new]
        return QueryWords(
            np.array([*numbers, *(n for n, _ in inside), *range(size, behind)], dtype=np.int64),
            np.array([*rows, *(-1 for _ in names)], dtype=np.int64),
            np.array([*(known.bag[row] for row in rows), *(known.others[word] for word in names)], dtype=np.float64),
            len(rows),
            tuple(names),
        )


class ViewSource:
    """What all views of an index are made of; it knows none of them, so that none keeps itself."""

    def __init__(self, graphs: Graphs, together: CollectionStatistics | None = None) -> None:
        self.together = together
        self._graphs = graphs
        self._mutex = Lock()
        self._costs: tuple[tuple[int, int], WordCosts] | None = None

    def graph(self, snapshot: Snapshot) -> RelatedWords | None:
        """The related words of the words of a state that have vectors; None where there are none."""
        if not len(snapshot.terms):
            return None
        self._graphs.searched = True
        return self._graphs.get(snapshot)

    def weights(self, snapshot: Snapshot, keeps: bool) -> StoredWeights:
        """What words and documents weigh in a state, to be stored."""
        weights = fit_weights(SCHEME, keeps, snapshot, self.together)
        frequencies, names, documents = np.zeros(snapshot.terms.size, np.int32), set(large(snapshot.segments)), {}
        for part in (part for part in snapshot.parts if part.key[1] in names):
            add_frequencies(part.rows, frequencies)
            squares = weights.sums(part, squared=True)
            documents[part.key[1]] = weights.sums(part).astype(np.float32), np.sqrt(squares).astype(np.float32)
        config = {name: snapshot.state[name] for name in ("documents", "words", "next_number", "epoch")}
        config |= {"unseen": weights.weighting.unseen, "keeps": keeps}
        return StoredWeights(config, weights.per_word, frequencies, snapshot.terms, documents)

    def costs(self, snapshot: Snapshot, graph: RelatedWords) -> WordCosts:
        """What words cost that move; kept as long as the index has the same words."""
        key = (snapshot.epoch, snapshot.terms.size)
        with self._mutex:
            if self._costs is None or self._costs[0] != key:
                self._costs = key, WordCosts(snapshot.embeddings, graph, snapshot.terms)
            return self._costs[1]


class Views:
    """The views of an index that were asked for last."""

    def __init__(self, source: ViewSource) -> None:
        self.source = source
        self._mutex = Lock()
        self._views: OrderedDict[tuple[int, str, bool], View] = OrderedDict()

    def get(self, snapshot: Snapshot, measure: Measure) -> View:
        """The view of a state by a measure."""
        scheme = measure.weights
        key = (snapshot.generation, scheme, measure.unknown != "drop")
        with self._mutex:
            found = self._views.get(key)
            if found is None:
                weights = fit_weights(scheme, key[2], snapshot, self.source.together)
                found = View(snapshot, weights, self.source)
                if scheme in FREQUENCY_FREE:
                    for earlier in (view for known, view in self._views.items() if known[1:] == key[1:]):
                        found.take_over(earlier)
                self._views[key] = found
            self._views.move_to_end(key)
            while len(self._views) > _KEPT or next(iter(self._views))[0] < snapshot.generation - 1:
                self._views.popitem(last=False)
            return found
