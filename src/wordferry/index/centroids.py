"""The word centroid distance over an index: codes rule out most documents, the rest are compared exactly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.index.nearest import ranked
from wordferry.index.segments import Rows
from wordferry.index.snapshot import Part, Snapshot, damaged_among
from wordferry.kernels.centroids import CentroidPart, CentroidQuery, Codes
from wordferry.kernels.related_lists import Found
from wordferry.words.embeddings import Embeddings

_FEW = 1024
"""With no more documents than this to choose from, all of them are compared."""
_KEPT = 64


class KeptCodes:
    """The coded centroids of parts, made when they are first needed."""

    def __init__(self) -> None:
        self._mutex = Lock()
        self._codes: OrderedDict[tuple[Any, ...], _native.CentroidCodes] = OrderedDict()

    def get(self, part: Part, made: Callable[[], Codes]) -> _native.CentroidCodes:
        with self._mutex:
            found = self._codes.get(part.key)
            if found is None:
                found = self._codes[part.key] = made().native
                while len(self._codes) > _KEPT:
                    self._codes.popitem(last=False)
            self._codes.move_to_end(part.key)
            return found

    def forget(self, parts: Sequence[Part]) -> None:
        """Let go of parts that are not among these."""
        with self._mutex:
            for key in self._codes.keys() - {part.key for part in parts}:
                del self._codes[key]


class Centroids:
    """The centroids of the parts of an index, of plain counts: as they are stored, or coded when first needed."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._kept = KeptCodes()

    def nearest(
        self, snapshot: Snapshot, words: Int64Array, masses: Float32Array, k: int, mask: BoolArray | None, threads: int
    ) -> Neighbors:
        """The k nearest rows of the snapshot that the mask allows, by (distance, row)."""
        query = CentroidQuery(words.astype(np.int32), masses, self._embeddings.matrix)
        parts = [CentroidPart(part.rows.stored) for part in snapshot.parts]
        return nearest(snapshot, query, parts, lambda place: self._of(snapshot.parts[place], threads), k, mask, threads)

    def _of(self, part: Part, threads: int) -> _native.CentroidCodes:
        def made() -> Codes:
            rows = part.rows
            return rows.codes or Codes.of(CentroidPart(rows.stored), rows.totals, self._embeddings.matrix, threads)

        return self._kept.get(part, made)

    def forget(self, parts: Sequence[Part]) -> None:
        """Let go of parts that are not among these."""
        self._kept.forget(parts)


def nearest(
    snapshot: Snapshot,
    query: CentroidQuery,
    parts: list[CentroidPart],
    codes: Callable[[int], _native.CentroidCodes],
    k: int,
    mask: BoolArray | None,
    threads: int,
) -> Neighbors:
    """The k nearest rows that the mask allows, through codes of the parts by their places where there are many."""
    allowed = snapshot.count(mask)
    try:
        if allowed <= max(_FEW, k):
            rows = np.arange(len(snapshot.numbers)) if mask is None else np.flatnonzero(mask)
            found = Found(rows, query.distances(parts, rows), 0, len(rows))
        else:
            found = query.nearest(parts, [codes(place) for place in range(len(parts))], mask, k, threads)
    except ValueError as error:
        raise damaged_among(snapshot.parts, error) from None
    return ranked(found, k, {"pairs": allowed, "evaluated": found.evaluated})


def codes_agree(rows: Rows, vectors: Float32Array) -> bool:
    """Whether stored codes are those of the documents; where none are stored, there is nothing to compare."""
    if rows.codes is None:
        return True
    stored = rows.codes
    try:
        again = Codes.along(CentroidPart(rows.stored), vectors, stored.mean, stored.axes, stored.steps)
    except ValueError:
        return False
    return np.array_equal(stored.codes, again.codes)
