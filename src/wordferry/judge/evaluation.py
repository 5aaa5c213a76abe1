"""Which distance is being judged, and distances of given pairs: what the judging tasks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.runtime import Run
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.compare.problem import Distance
from wordferry.texts import bow
from wordferry.texts.bow import Unknown
from wordferry.texts.datasets import given_or_default
from wordferry.texts.tokenizers import Tokenizer
from wordferry.texts.weights import fit_weights
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords
from wordferry.words.related.whole import related_of


@dataclass(frozen=True)
class DistanceSetting:
    """A distance with all that is needed to compute it on texts."""

    distance: str | Distance = "wmd"
    embeddings: Embeddings | None = None
    """None means the default vectors."""
    related: RelatedWords | None = None
    """None means those of the whole vocabulary, as for single pairs of texts."""
    r: int = DEFAULT_R
    overlap: str | None = None
    weights: Any = "idf"
    """What a word counts for, by default as in an index; frequencies are those of all texts together."""
    unknown: Unknown = "match"
    """Words without a vector: kept ("match"), left out ("drop") or refused ("error")."""
    tokenizer: Tokenizer | None = None
    threads: int | None = None

    def ready(self) -> DistanceSetting:
        """This setting with its embeddings, and with related words where the distance needs them."""
        embeddings = self.vectors()
        if self.related is not None or not find_distance(self.distance).needs_related:
            return replace(self, embeddings=embeddings)
        return replace(self, embeddings=embeddings, related=related_of(embeddings, self.r, threads=self.threads))

    def vectors(self) -> Embeddings:
        """The embeddings, the default ones if none were given."""
        return given_or_default(self.embeddings)

    def encode(self, documents: Sequence[Any]) -> bow.Encoded:
        """Counts; documents without words stay as empty rows."""
        words = self.vectors().vocabulary
        return bow.bags(documents, words, tokenizer=self.tokenizer, on_empty="keep", unknown=self.unknown)


def paired_distances(first: Sequence[Any], second: Sequence[Any], setting: DistanceSetting) -> Float64Array:
    """The distance of ``first[i]`` to ``second[i]`` for every i; inf where one of them has no word."""
    documents = [*first, *second]
    counts = setting.encode(documents)
    half = len(first)
    rows = np.arange(half)
    return indexed_distances(counts, rows, rows + half, setting)


def indexed_distances(documents: bow.Encoded, first: Any, second: Any, setting: DistanceSetting) -> Float64Array:
    """The distance of document ``first[i]`` to ``second[i]``; inf where one of them is empty.

    Weights take document frequencies from all of the documents.
    """
    ready = setting.ready()
    record = find_distance(ready.distance)
    counts = documents.matrix
    spec = "idf" if record.tfidf and isinstance(ready.weights, str) and ready.weights == "counts" else ready.weights
    weighting = fit_weights(spec, counts, ready.embeddings, documents.vocabulary)
    measure = Measure(
        record,
        ready.overlap,
        weights="counts" if weighting is None else weighting,
        embeddings=ready.embeddings,
        related=ready.related,
        on_empty="keep",
    )
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    found = measure.paired(documents.take(a), documents.take(b), Run(ready.threads))
    filled = np.diff(counts.indptr) > 0
    return np.where(filled[a] & filled[b], found, np.inf).astype(np.float64)
