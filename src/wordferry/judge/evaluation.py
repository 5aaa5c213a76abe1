"""Which distance is being judged, and distances of given pairs: what the judging tasks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import Float64Array
from wordferry.compare.calls import pairwise
from wordferry.compare.distances import find_distance
from wordferry.texts import bow
from wordferry.texts.datasets import given_or_default
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords

_BLOCK = 64


@dataclass(frozen=True)
class DistanceSetting:
    """A distance with all that is needed to compute it on texts."""

    distance: str = "wmd"
    embeddings: Embeddings | None = None
    """None means the default vectors."""
    related: RelatedWords | None = None
    """None builds one over the words of the texts, for distances that need it."""
    r: int = DEFAULT_R
    overlap: str | None = None
    tokenizer: Tokenizer | None = None
    threads: int | None = None

    def ready(self, X: sp.csr_array) -> DistanceSetting:
        """The same with embeddings, and with related words over the words of X where they are needed and missing."""
        embeddings = self.vectors()
        if self.related is not None or not find_distance(self.distance).needs_related:
            return replace(self, embeddings=embeddings)
        words = np.unique(X.indices).astype(np.int64)
        return replace(self, embeddings=embeddings, related=RelatedWords.build(embeddings.restrict(words), self.r))

    def vectors(self) -> Embeddings:
        """The embeddings, the default ones if none were given."""
        return given_or_default(self.embeddings)

    def encode(self, documents: Sequence[Any]) -> sp.csr_array:
        """Counts over the embeddings' words; documents without known words stay as empty rows."""
        return bow.bags(documents, self.vectors().vocabulary, tokenizer=self.tokenizer, on_empty="keep").matrix


def paired_distances(first: Sequence[Any], second: Sequence[Any], setting: DistanceSetting) -> Float64Array:
    """The distance of ``first[i]`` to ``second[i]`` for every i; inf where one of them has no known word."""
    documents = [*first, *second]
    counts = setting.encode(documents)
    half = len(first)
    rows = np.arange(half)
    return indexed_distances(counts, rows, rows + half, setting)


def indexed_distances(counts: sp.csr_array, first: Any, second: Any, setting: DistanceSetting) -> Float64Array:
    """The distance of row ``first[i]`` to row ``second[i]`` of ``counts``; inf where one of them is empty.

    tf-idf distances take document frequencies from all of ``counts``.
    """
    ready = setting.ready(counts)
    record = find_distance(ready.distance)
    idf = bow.TfIdf.fit(counts) if record.tfidf else None
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    filled = np.diff(counts.indptr) > 0
    wanted = np.flatnonzero(filled[a] & filled[b])
    result = np.full(len(a), np.inf)
    # A call costs more than a few pairs that nobody asked for, unless a pair compares all its words with each other.
    size = 1 if record.costly else _BLOCK
    for start in range(0, len(wanted), size):
        block = wanted[start : start + size]
        result[block] = pairwise(
            counts[a[block]],
            counts[b[block]],
            record,
            embeddings=ready.embeddings,
            related=ready.related,
            overlap=ready.overlap,
            idf=idf,
            threads=ready.threads,
        ).diagonal()
    return result
