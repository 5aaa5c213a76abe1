"""The word centroid distance over an index: codes rule out most documents, the rest are compared exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Neighbors
from wordferry.compare.problem import Distance
from wordferry.index.search.lists import FEW
from wordferry.index.search.views import Request, View
from wordferry.index.search.weights import QueryWords
from wordferry.index.storage.snapshot import Part, reading_parts
from wordferry.kernels.centroids import CentroidQuery, WordVectors, codes_of


class Centroids:
    """Query by query through codes of the documents' centroids, which are made when they are first needed.

    Each word without a vector is a dimension of its own.
    """

    together = 1

    def applies(self, view: View, distance: Distance, overlap: str) -> bool:
        return distance.by_centroids

    def nearest(self, view: View, queries: Sequence[QueryWords], request: Request) -> Neighbors:
        (words,), facts = queries, (view.embeddings.matrix, view.snapshot.terms.row_of, view.weights.native, view.far)
        vectors = view.kept(None, "word vectors", lambda: WordVectors(*facts))
        masses, known = view.weights.masses(words), words.with_vectors
        apart = words.numbers[known:].astype(np.int32), masses[known:]
        query = CentroidQuery(vectors, words.vectors[:known].astype(np.int32), masses[:known], apart)
        parts = [view.documents(part).native for part in view.snapshot.parts]
        with reading_parts(*view.snapshot.parts):
            if view.snapshot.count(request.mask) <= max(FEW, request.k):
                rows = view.snapshot.rows(request.mask)
                return request.ranked(rows, query.distances(parts, rows)[None, :])
            codes = [_codes(view, part, vectors, request.threads) for part in view.snapshot.parts]
            return query.nearest(parts, codes, request.mask, request.k, request.threads)


def _codes(view: View, part: Part, vectors: WordVectors, threads: int) -> _native.CentroidCodes:
    """The coded centroids of a part."""
    documents = view.documents(part)

    def made() -> _native.CentroidCodes:
        return codes_of(documents.native, vectors, np.flatnonzero(documents.sums > 0), threads)

    return view.kept(part, "centroids", made)
