"""What words weigh in one state of an index: document frequencies, the scheme fitted on them, and queries weighed so.

The mass of a word in a document is what the word counts there times its weight, as a share of the sum over the
document. A word of weight 0 does not count at all: with ``unknown="drop"`` those without a vector. Term frequency
counts linearly, except with "log-idf" (``1 + ln(count)``) and "bm25" (saturated, the sooner the shorter the document
is).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.index.search.words import CollectionStatistics
from wordferry.index.storage.snapshot import Part, Snapshot, reading_parts
from wordferry.index.storage.stored_weights import add_frequencies
from wordferry.kernels.lists import COUNTS, repeats
from wordferry.texts.weights import Weighting, room_for, vector_lengths, weights_of_counts

_GROWTH = {"log-idf": "logarithm", "bm25": "saturation"}
"""Schemes by which what a word counts does not grow as its count does."""
FREQUENCY_FREE = ("counts", "norm")
"""Schemes that do not depend on document frequencies, so that no change of the collection changes them."""


@dataclass(frozen=True, eq=False)
class QueryWords:
    """The words of a query that count, in the order in which documents have theirs: words with vectors come first."""

    numbers: Int64Array
    """In the dictionary; words that it does not have are numbered behind it."""
    vectors: Int64Array
    """Rows of the embeddings, ascending; -1 for words without a vector."""
    counts: Float64Array
    with_vectors: int
    """How many of the words have a vector."""
    names: tuple[str, ...] = ()
    """The words that have no vector."""

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class WordWeights:
    """What each word weighs in one state of an index."""

    weighting: Weighting
    """Fitted on the state; its weights are by the numbers of words, and 0 for those that do not count."""
    keeps: bool
    """Whether words without a vector count."""
    new: Float64Array
    """The weight of words that no document has, by their vectors; empty where all such words weigh the same."""
    _repeats: dict[Any, _native.Repeats] = field(default_factory=dict)

    @cached_property
    def per_word(self) -> Float64Array:
        """The weight of each word by its number."""
        return self.weighting.per_word

    @cached_property
    def growth(self) -> str:
        """How what a repeated word counts grows with its count."""
        return _GROWTH.get(self.weighting.scheme, "counts")

    @cached_property
    def native(self) -> _native.WordWeights:
        """As the kernels take it."""
        return _native.WordWeights(self.per_word)

    def repeats(self, part: Part) -> _native.Repeats:
        """How much repeated words count in the documents of a part."""
        saturated = self.growth == "saturation"
        key = part.key if saturated else None
        found = self._repeats.get(key)
        if found is None:
            room = None
            if saturated:
                lengths: Any = part.rows.lengths.astype(np.float64)
                if not self.keeps:  # only words with a vector count
                    with reading_parts(part):
                        lengths = part.rows.stored.sums((self.per_word > 0).astype(np.float64), False, COUNTS, 1)
                room = room_for(lengths, self.weighting.mean_length)
            found = self._repeats[key] = repeats(self.growth, room)
        return found

    def sums(
        self,
        part: Part,
        per_word: Float64Array | None = None,
        *,
        squared: bool = False,
        mask: BoolArray | None = None,
    ) -> Float64Array:
        """The sum of what the words of each document weigh in it, or of the squares; 0 outside the ``mask``.

        ``per_word`` takes the place of what each word weighs.
        """
        weights = self.per_word if per_word is None else per_word
        with reading_parts(part):
            return part.rows.stored.sums(weights, squared, self.repeats(part), 1, mask)

    def of_query(self, words: QueryWords) -> Float64Array:
        """What the words of a query weigh in it."""
        counts = words.counts
        if self.growth == "logarithm":  # by the function of the kernels, so that equal documents are equal
            counts = np.array([1 + math.log(count) for count in counts.tolist()])
        elif self.growth == "saturation":
            room = room_for(float(counts.sum()), self.weighting.mean_length)
            counts = np.where(counts > 1, counts * (1 + room) / (counts + room), counts)
        known = words.numbers < len(self.per_word)
        weights = np.full(len(known), self.weighting.unseen, dtype=np.float64)
        weights[known] = self.per_word[words.numbers[known]]
        if len(self.new):
            outside = ~known & (words.vectors >= 0)
            weights[outside] = self.new[words.vectors[outside]]
        return counts * weights

    def masses(self, words: QueryWords) -> Float32Array:
        """The masses of the words of a query, which has some, summed up as in a row of a matrix."""
        weights = self.of_query(words)
        masses: Float32Array = (weights / weights.cumsum()[-1]).astype(np.float32)
        return masses


def document_frequencies(snapshot: Snapshot) -> Int32Array:
    """In how many living documents each word stands, by its number; no document is read but deleted ones."""
    stored = snapshot.weights
    covered = {} if stored is None else stored.documents
    found = np.zeros(snapshot.terms.size, dtype=np.int32)
    if stored is not None:
        found[: len(stored.frequencies)] = stored.frequencies
    for part in snapshot.parts:
        with reading_parts(part):
            if part.key[1] not in covered:
                add_frequencies(part.rows, found)
            if snapshot.alive is not None and not snapshot.alive[part.span].all():
                dead = part.bags.select(np.flatnonzero(~snapshot.alive[part.span]))
                np.subtract.at(found, dead.words, 1)
    return found


def fit_weights(scheme: str, keeps: bool, snapshot: Snapshot, together: CollectionStatistics | None) -> WordWeights:
    """A scheme fitted on the living documents, or on those of all shards together."""
    terms, saved = snapshot.terms, snapshot.weights
    documents = snapshot.documents if together is None else together.documents
    if saved is not None and together is None and saved.is_of(snapshot.state) and saved.is_by(scheme, keeps):
        known = Weighting(scheme, saved.weights, saved.config["unseen"], documents)
        return WordWeights(known, keeps, np.zeros(0))
    if scheme in FREQUENCY_FREE:
        fitted = Weighting(scheme, np.ones(terms.size), 1.0, documents)
    else:
        if together is None:
            df: Any = document_frequencies(snapshot)
            tokens = snapshot.tokens(known=not keeps) if scheme == "bm25" else 0.0
        else:
            df, tokens = together.frequencies, together.tokens if keeps else together.known_tokens
        weighed = weights_of_counts(scheme.removeprefix("norm-"), documents, df, tokens, None)
        assert weighed is not None
        fitted = replace(weighed, scheme=scheme)
    new = np.zeros(0)
    if scheme.startswith("norm"):
        lengths, stored = vector_lengths(snapshot.embeddings).copy(), vector_lengths(snapshot.embeddings.stored)
        mean = float(stored.mean()) if len(stored) else 1.0
        lengths[: len(lengths) - len(stored)] = mean  # rows for words of queries, which have not come yet
        new = fitted.unseen * lengths
        own = np.full(terms.size, mean)
        own[terms.numbers] = lengths[terms.rows]
        fitted = replace(fitted, per_word=fitted.per_word * own, unseen=fitted.unseen * mean)
    if not keeps:
        fitted.per_word[terms.row_of < 0] = 0.0
    fitted.per_word[terms.stop] = 0.0
    return WordWeights(fitted, keeps, new)
