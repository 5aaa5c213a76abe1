"""The word centroid distance over an index where words weigh more or less, and where words without vectors count.

As by plain counts, codes of the centroids rule out most documents. What a document weighs belongs to one state of the
collection, so that its codes are made when they are first needed, 66 bytes for each document, and go with the state.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wordferry import _native
from wordferry.base.arrays import BoolArray, Neighbors
from wordferry.index.centroids import KeptCodes, nearest
from wordferry.index.scale import Asked, Scale
from wordferry.index.snapshot import Part, Snapshot
from wordferry.index.sums import Sums
from wordferry.kernels.centroids import WEIGHED_AXES, CentroidPart, CentroidQuery, Codes
from wordferry.kernels.related_lists import BLOCK
from wordferry.words.embeddings import Embeddings


class WeighedCentroids:
    """The centroids of one state.

    Each word without a vector is a dimension of its own; two of them are ``far`` apart.
    """

    def __init__(self, embeddings: Embeddings, scale: Scale, sums: Callable[[Part], Sums], far: float) -> None:
        self._embeddings, self._scale, self._sums, self._far = embeddings, scale, sums, far
        self._kept = KeptCodes()

    def nearest(self, snapshot: Snapshot, asked: Asked, k: int, mask: BoolArray | None, threads: int) -> Neighbors:
        """The k nearest rows of the snapshot that the mask allows, by (distance, row)."""
        weights, vectors = self._scale.asked(asked), self._embeddings.matrix
        total = np.concatenate(weights).cumsum()[-1]  # summed as over the words of a document
        known, others, new = ((some / total).astype(np.float32) for some in weights)
        ids, numbers = (some.astype(np.int32) for some in (asked.ids, asked.others))
        query = CentroidQuery(ids, known, vectors, (numbers, others), new)
        parts = [
            CentroidPart.weighed(self._sums(part).stored, self._scale.native, self._far) for part in snapshot.parts
        ]

        def codes(place: int) -> _native.CentroidCodes:
            part = snapshot.parts[place]

            def made() -> Codes:
                codes = Codes.of(parts[place], self._sums(part).short, vectors, threads, WEIGHED_AXES)
                if len(part.rows) > BLOCK:  # a search needs little of what was walked just now
                    part.rows.let_go()
                return codes

            return self._kept.get(part, made)

        return nearest(snapshot, query, parts, codes, k, mask, threads)
