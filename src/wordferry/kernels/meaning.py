"""The typed door to the kernel that scans vectors of documents for those nearest to a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array

PARTS = 1 << 18
"""Cosines are added up as whole numbers of this fraction of 1, so that any order gives the same sums."""


class CosineSums(NamedTuple):
    """How many documents there are, and the sums of their cosines and of the squares of these, in :data:`PARTS`."""

    documents: int
    total: int
    squares: int


class NearestByMeaning(NamedTuple):
    """The rows with the largest cosines, by (cosine descending, row ascending), and the sums over all that live."""

    rows: Int64Array
    cosines: Float64Array
    sums: CosineSums


class CodedDocuments:
    """Vectors of documents as the kernel takes them: codes of one byte, and a scale for each document."""

    def __init__(self, codes: npt.NDArray[np.int8], scales: Float32Array) -> None:
        self.documents = len(codes)
        self.native = _native.CodedDocuments(codes, scales)


def nearest(
    parts: Sequence[CodedDocuments],
    query: tuple[npt.NDArray[np.int16], float],
    k: int,
    masks: tuple[BoolArray | None, BoolArray | None],
) -> NearestByMeaning:
    """The best k rows of all parts for a query, given as levels and their scale.

    ``masks`` say which rows are alive, and so count in the sums, and which may be found; None is all of them.
    """
    rows, cosines = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float64)
    own = [part.native for part in parts]
    count, sums = _native.best_by_meaning(own, *query, *masks, rows, cosines)
    total = CosineSums(*(sum(one[i] for one in sums) for i in range(3)))
    return NearestByMeaning(rows[:count], cosines[:count], total)
