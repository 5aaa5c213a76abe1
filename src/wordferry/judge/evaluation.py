"""Distances of given pairs of documents: what the judging tasks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.runtime import Run
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.texts import bow
from wordferry.texts.datasets import given_or_default


def judged_measure(distance: str = "wmd", **fields: Any) -> Measure:
    """How a distance is judged where nothing else is said: words weigh by "idf", as in an index."""
    return Measure(find_distance(distance), **{"weights": "idf", **fields})


def encoded(documents: Sequence[Any], measure: Measure) -> bow.Encoded:
    """Counts of texts or token lists; documents without words stay as empty rows."""
    words = given_or_default(measure.embeddings).vocabulary
    return bow.bags(documents, words, tokenizer=measure.tokenizer, on_empty="keep", unknown=measure.unknown)


def paired_distances(first: Sequence[Any], second: Sequence[Any], measure: Measure) -> Float64Array:
    """The distance of ``first[i]`` to ``second[i]`` for every i; inf where one of them has no word."""
    rows = np.arange(len(first))
    return indexed_distances(encoded([*first, *second], measure), rows, rows + len(first), measure)


def indexed_distances(
    documents: bow.Encoded, first: Any, second: Any, measure: Measure, threads: int | None = None
) -> Float64Array:
    """The distance of document ``first[i]`` to ``second[i]``; inf where one of them is empty.

    Weights take document frequencies from all of the documents.
    """
    measure = measure.changed(embeddings=given_or_default(measure.embeddings), on_empty="keep")
    weights = measure.fitted_weights(documents.matrix, documents.vocabulary)
    measure = measure.changed(weights="counts" if weights is None else weights)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    found = measure.paired(documents.take(a), documents.take(b), Run(threads))
    filled = np.diff(documents.matrix.indptr) > 0
    return np.where(filled[a] & filled[b], found, np.inf).astype(np.float64)
