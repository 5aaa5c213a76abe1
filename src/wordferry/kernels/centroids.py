"""The typed door to the kernels of the word centroid distance over stored documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.base.runtime import blas_threads
from wordferry.kernels.related_lists import Found, Stored, WeighedStored, WordWeights

AXES = 47
"""Along at most so many axes centroids are coded; with the length of the rest and a note, a document has 49 bytes."""
WEIGHED_AXES = 63
"""The same where words weigh more or less, so that centroids differ in more directions: 65 bytes, and one more where
words without a vector count."""
_SAMPLE = 4096
"""Documents whose centroids decide on the axes."""
_HEADROOM = 1.25
"""How far beyond those of the sample a coordinate may go before its code is cut short."""


_NO_WORDS: tuple[Int32Array, Float32Array] = (np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))


class CentroidPart:
    """Documents whose centroids are asked for, by plain counts of their words with vectors."""

    def __init__(self, part: Stored) -> None:
        self.documents, self.apart, self.native = part.documents, False, _native.CentroidPart(part.native)

    @classmethod
    def weighed(cls, part: WeighedStored, weights: WordWeights, far: float) -> CentroidPart:
        """The same by what words weigh; each word without a vector is a dimension, and two are ``far`` apart."""
        self = cls.__new__(cls)
        self.documents, self.apart = part.documents, far > 0
        self.native = _native.CentroidPart(part.native, weights.native, far**2 / 2)
        return self


@dataclass(frozen=True)
class Codes:
    """Centroids of documents, a byte for each coordinate, and how they were coded."""

    codes: npt.NDArray[np.int8]
    mean: Float64Array
    axes: Float64Array
    """One row each, orthonormal: the directions in which the centroids of a sample differ most."""
    steps: Float64Array
    """What a code of 1 stands for: for each axis, for the length of the rest, for the length of what words without a
    vector add where that has a code, and last for the note of the error."""

    @property
    def native(self) -> _native.CentroidCodes:
        """As the kernels take them. ValueError when they do not agree."""
        return _native.CentroidCodes(self._frame, self.codes)

    @property
    def _frame(self) -> _native.CentroidFrame:
        if not len(self.steps):
            raise ValueError("the codes have no steps")
        return _native.CentroidFrame(self.mean, self.axes, self.steps[:-1], float(self.steps[-1]))

    @classmethod
    def of(
        cls, part: CentroidPart, totals: Float32Array, vectors: Float32Array, threads: int = 1, most_axes: int = AXES
    ) -> Codes:
        """Code the centroids of all documents of a part; those with totals of 0 have no words."""
        sample, apart = centroids_of(part, vectors, _spread(np.flatnonzero(totals > 0), _SAMPLE))
        mean = sample.mean(axis=0) if len(sample) else np.zeros(vectors.shape[1])
        away = sample - mean
        with blas_threads(1):  # others would go on spinning for a while after this, into the next search
            axes = np.linalg.eigh(away.T @ away)[1][:, ::-1][:, :most_axes].T.copy()
            points = away @ axes.T
        rest = np.sqrt(np.maximum((away**2).sum(axis=1) - (points**2).sum(axis=1), 0))
        lengths = [rest, apart] if part.apart else [rest]
        most = np.abs(np.column_stack([points, *lengths])).max(axis=0, initial=0) * _HEADROOM
        steps = np.maximum(most, 1e-6) / 127
        error = np.sqrt((steps**2).sum()) / 2  # of codes that are not cut short: at most half a step each
        return cls.along(part, vectors, mean, axes, np.append(steps, max(error / 32, 1e-9)), threads)

    @classmethod
    def along(
        cls,
        part: CentroidPart,
        vectors: Float32Array,
        mean: Float64Array,
        axes: Float64Array,
        steps: Float64Array,
        threads: int = 1,
    ) -> Codes:
        """Code along given axes."""
        documents = part.documents
        codes = np.empty(-(-documents // 16) * 16 * len(steps), dtype=np.int8)
        made = cls(codes, mean, axes, steps)
        _native.encode_centroids(part.native, vectors, made._frame, codes, threads)
        return made


def _spread(rows: Int64Array, most: int) -> Int64Array:
    """At most so many of some rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def centroids_of(part: CentroidPart, vectors: Float32Array, rows: Int64Array) -> tuple[Float64Array, Float64Array]:
    """The mean vectors of some documents, and the lengths of what their words without a vector add."""
    out, apart = np.empty((len(rows), vectors.shape[1]), dtype=np.float64), np.empty(len(rows), dtype=np.float64)
    _native.centroids_of([part.native], vectors, rows, out, apart)
    return out, apart


class CentroidQuery:
    """A query against stored documents; words are numbered as the vectors are.

    ``others`` are its words without a vector, by their own numbers, and ``new`` are the masses of those that are in no
    document.
    """

    def __init__(
        self,
        words: Int32Array,
        masses: Float32Array,
        vectors: Float32Array,
        others: tuple[Int32Array, Float32Array] = _NO_WORDS,
        new: Float32Array = _NO_WORDS[1],
    ) -> None:
        self._native = _native.CentroidQuery(words, masses, *others, new, vectors)

    def nearest(
        self,
        parts: list[CentroidPart],
        codes: list[_native.CentroidCodes],
        allowed: BoolArray | None,
        k: int,
        threads: int,
    ) -> Found:
        """The k nearest of the allowed rows. ValueError when the arrays lead outside, which only damaged ones do."""
        rows, distances = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float32)
        mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
        own = [part.native for part in parts]
        count, evaluated = self._native.nearest(own, codes, mask, threads, rows, distances)
        return Found(rows[:count], distances[:count], 0, evaluated)

    def distances(self, parts: list[CentroidPart], rows: Int64Array) -> Float32Array:
        """The distances of some rows."""
        out = np.empty(len(rows), dtype=np.float32)
        self._native.distances([part.native for part in parts], rows, out)
        return out
