"""Vectors of unit length as codes of one byte with one scale for each vector, and queries that are compared with them.

A code is the coordinate in parts of the largest one, which is 127; the scale is 1 over the length of the codes. So a
vector that was decoded has the same codes again, and a product of codes and query is a sum of whole numbers: cosines
are equal wherever and in whichever order they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from wordferry.errors import InputError
from wordferry.kernels.words import CodedDocuments

_LARGEST_CODE = 127
_LARGEST_LEVEL = 32_767
_LEVELS = (1 << 24) - 1
"""The most that the levels of a query may add up to, so that products fit in 32 bits."""


@dataclass(frozen=True, eq=False)
class CodedQuery:
    """A query of unit length: whole ``levels`` times ``scale``."""

    levels: npt.NDArray[np.int16]
    scale: float

    @classmethod
    def of(cls, vector: Any) -> CodedQuery:
        """The levels of one vector; zeros where it has no direction."""
        values = np.asarray(vector, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise InputError(f"The vector of a query is a row of finite numbers, got shape {values.shape}.")
        largest, total = float(np.abs(values).max()), float(np.abs(values).sum())
        if largest == 0:
            return cls(np.zeros(len(values), dtype=np.int16), 0.0)
        factor = min(_LARGEST_LEVEL / largest, (_LEVELS - len(values)) / total)
        levels = np.rint(values * factor).astype(np.int16)
        return cls(levels, 1.0 / float(np.sqrt(np.square(levels, dtype=np.int64).sum())))

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class Codes:
    """Vectors of some documents: row i is ``codes[i] * scales[i]``; one without a vector has the scale 0."""

    codes: npt.NDArray[np.int8]
    scales: Float32Array

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def dimension(self) -> int:
        return int(self.codes.shape[1])

    @classmethod
    def of(cls, vectors: Float32Array) -> Codes:
        """The codes of vectors of any length; of one that is zero or not finite nothing is kept."""
        values = np.asarray(vectors, dtype=np.float32)
        largest = np.abs(values).max(axis=1, keepdims=True, initial=0)
        there = np.isfinite(largest) & (largest > 0)
        shares = np.divide(values, largest, out=np.zeros_like(values), where=there)
        codes = np.rint(shares * np.float32(_LARGEST_CODE)).astype(np.int8)
        return cls.stored(codes)

    @classmethod
    def stored(cls, codes: npt.NDArray[np.int8]) -> Codes:
        """Codes that were stored without their scales."""
        return cls(codes, scales_of(codes))

    @classmethod
    def join(cls, parts: Sequence[Codes]) -> Codes:
        """The rows of several, one after the other."""
        return cls(np.concatenate([part.codes for part in parts]), np.concatenate([part.scales for part in parts]))

    def select(self, rows: Int64Array | BoolArray) -> Codes:
        """Some rows, in the order given."""
        return Codes(self.codes[rows], self.scales[rows])

    def vectors(self) -> Float32Array:
        """The vectors, decoded."""
        decoded: Float32Array = self.codes * self.scales[:, None]
        return decoded

    def cosines(self, query: CodedQuery) -> Float64Array:
        """The cosine of each row and a query, to the bit what the kernel says."""
        whole = self.codes.astype(np.int32) @ query.levels.astype(np.int32)
        return np.clip(whole.astype(np.float64) * self.scales.astype(np.float64) * query.scale, -1.0, 1.0)

    def between(self, one: Int64Array, other: Int64Array) -> Float64Array:
        """The cosines of pairs of rows."""
        whole = np.einsum("ij,ij->i", self.codes[one], self.codes[other], dtype=np.int64).astype(np.float64)
        found: Float64Array = np.clip(whole * self.scales[one].astype(np.float64) * self.scales[other], -1.0, 1.0)
        return found

    @cached_property
    def native(self) -> CodedDocuments:
        """The arrays as the kernel takes them."""
        return CodedDocuments(self.codes, self.scales)


def scales_of(codes: npt.NDArray[np.int8]) -> Float32Array:
    """1 over the length of each row, 0 for a row of zeros."""
    squares = np.einsum("ij,ij->i", codes, codes, dtype=np.int64).astype(np.float64)
    scales = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(codes)), where=squares > 0)
    found: Float32Array = scales.astype(np.float32)
    return found
