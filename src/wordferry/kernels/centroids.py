"""The typed door to the kernels of the word centroid distance over stored documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array, Neighbors
from wordferry.base.runtime import blas_threads
from wordferry.kernels.lists import WeighedDocuments

AXES = 78
"""Number of principal axes in a centroid code: with two lengths of what lies outside of axes, that of what words
without a vector add, and a note of the error, a document has 82 bytes."""
_FIRST = 31
"""Number of these by which most documents are ruled out."""
_SAMPLE = 4096
"""Documents whose centroids decide on the axes."""
_HEADROOM = 1.25
"""How far beyond those of the sample a coordinate may go before its code is cut short."""


class WordVectors:
    """Vectors, which of them each word has (-1: none), and what words weigh.

    Each word without a vector is a dimension of its own, and two of them are ``far`` apart.
    """

    def __init__(self, vectors: Float32Array, rows: Int32Array, weights: _native.WordWeights, far: float) -> None:
        self.dimensions = vectors.shape[1]
        self.native = _native.WordVectors(vectors, rows, weights, far**2 / 2)


def codes_of(part: WeighedDocuments, vectors: WordVectors, rows: Int64Array, threads: int = 1) -> _native.CentroidCodes:
    """Code the centroids of all documents of a part, along the axes in which those of some ``rows`` differ most."""
    sample, apart = centroids_of(part, vectors, _spread(rows, _SAMPLE))
    mean = sample.mean(axis=0) if len(sample) else np.zeros(vectors.dimensions)
    away = sample - mean
    with blas_threads(1):  # others would go on spinning for a while after this, into the next search
        axes = np.linalg.eigh(away.T @ away)[1][:, ::-1][:, :AXES].T.copy()
        points = away @ axes.T
    squares = (away**2).sum(axis=1)
    outside = [np.sqrt(np.maximum(squares - (points[:, :end] ** 2).sum(axis=1), 0)) for end in (_FIRST, AXES)]
    most = np.abs(np.column_stack([points, *outside, apart])).max(axis=0, initial=0) * _HEADROOM
    return _native.CentroidCodes(part, vectors.native, mean, axes, most, threads)


def _spread(rows: Int64Array, most: int) -> Int64Array:
    """At most ``most`` of some rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def centroids_of(part: WeighedDocuments, vectors: WordVectors, rows: Int64Array) -> tuple[Float64Array, Float64Array]:
    """The mean vectors of some documents, and the lengths of what their words without a vector add."""
    return _native.centroids_of([part], vectors.native, rows)


class CentroidQuery:
    """A query against stored documents: the vectors of its words and their masses.

    ``apart`` are the numbers, ascending, and the masses of its words without a vector.
    """

    def __init__(
        self,
        vectors: WordVectors,
        rows: Int32Array,
        masses: Float32Array,
        apart: tuple[Int32Array, Float32Array],
    ) -> None:
        self._native = _native.CentroidQuery(vectors.native, rows, masses, *apart)

    def nearest(
        self,
        parts: Sequence[WeighedDocuments],
        codes: Sequence[_native.CentroidCodes],
        allowed: BoolArray | None,
        k: int,
        threads: int,
    ) -> Neighbors:
        """The k nearest of the allowed rows. ValueError when the arrays lead outside, which only damaged ones do."""
        rows, distances, evaluated = self._native.nearest(parts, codes, allowed, k, threads)
        return Neighbors(rows, distances, counts={"postings": 0, "evaluated": evaluated})

    def distances(self, parts: Sequence[WeighedDocuments], rows: Int64Array) -> Float32Array:
        """The distances of some rows."""
        return self._native.distances(parts, rows)
