"""The word centroid distance over an index: codes rule out most documents, the rest are compared exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Int64Array, Neighbors
from wordferry.base.runtime import one_blas_thread
from wordferry.index.search.lists import FEW
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import Part, reading_parts
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


def nearest(view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
    """The k nearest rows to a query, through codes of the documents' centroids, made when they are first needed.

    Each word without a vector is a dimension of its own.
    """
    (words,), known = queries, queries[0].with_vectors
    facts = view.embeddings.matrix, view.snapshot.terms.row_of, view.weights.native, view.far**2 / 2
    vectors = view.kept(None, "word vectors", lambda: _native.WordVectors(*facts))
    masses, own = view.weights.masses(words), words.vectors[:known].astype(np.int32)
    apart = words.numbers[known:].astype(np.int32), masses[known:]
    query = _native.CentroidQuery(vectors, own, masses[:known], *apart)
    parts = [view.documents(part).native for part in view.snapshot.parts]

    def codes(part: Part) -> _native.CentroidCodes:
        documents = view.documents(part)
        return codes_of(documents.native, vectors, np.flatnonzero(documents.sums > 0), request.threads)

    with reading_parts(*view.snapshot.parts):
        if view.snapshot.count(request.mask) <= max(FEW, request.k):
            rows = view.snapshot.rows(request.mask)
            return request.ranked(rows, query.distances(parts, rows)[None, :])
        coded = [view.kept(part, "centroids", partial(codes, part)) for part in view.snapshot.parts]
        near, distances, evaluated = query.nearest(parts, coded, request.mask, request.k, request.threads)
    return Neighbors(near, distances, counts={"postings": 0, "evaluated": evaluated})


def codes_of(
    part: WeighedDocuments, vectors: _native.WordVectors, rows: Int64Array, threads: int = 1
) -> _native.CentroidCodes:
    """Code the centroids of all documents of a part, along the axes in which those of some ``rows`` differ most."""
    if len(rows) > _SAMPLE:  # evenly spread
        rows = rows[np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.int64)]
    sample, apart = _native.centroids_of([part], vectors, rows)
    mean = sample.mean(axis=0) if len(sample) else np.zeros(sample.shape[1])
    away = sample - mean
    with one_blas_thread():  # others would go on spinning for a while after this, into the next search
        axes = np.linalg.eigh(away.T @ away)[1][:, ::-1][:, :AXES].T.copy()
        points = away @ axes.T
    squares = (away**2).sum(axis=1)
    outside = [np.sqrt(np.maximum(squares - (points[:, :end] ** 2).sum(axis=1), 0)) for end in (_FIRST, AXES)]
    most = np.abs(np.column_stack([points, *outside, apart])).max(axis=0, initial=0) * _HEADROOM
    return _native.CentroidCodes(part, vectors, mean, axes, most, threads)
