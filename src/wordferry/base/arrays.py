"""Array-shaped values that cross floors: the CSR triple kernels take, and the neighbours they give back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from wordferry.errors import InputError

FloatArray = npt.NDArray[np.floating[Any]]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
UInt8Array = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Csr:
    """Rows of (column, value), as kernels take them: sorted, without duplicates or explicit zeros."""

    indptr: Int64Array
    indices: Int32Array
    data: FloatArray
    shape: tuple[int, int]

    @property
    def nnz(self) -> int:
        return len(self.indices)

    def row(self, i: int) -> tuple[Int32Array, FloatArray]:
        """Columns and values of row ``i``."""
        span = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[span], self.data[span]

    def rows(self, start: int, stop: int) -> Csr:
        """The rows ``start`` to ``stop``, without copying values."""
        low, high = self.indptr[start], self.indptr[stop]
        return Csr(
            self.indptr[start : stop + 1] - low,
            self.indices[low:high],
            self.data[low:high],
            (stop - start, self.shape[1]),
        )


def canonical_csr(matrix: Any, columns: int | None = None, *, name: str = "X") -> sp.csr_array:
    """Check a matrix of document weights and return it as a canonical ``csr_array``.

    Harmless differences are mended in a copy: any SciPy sparse flavour or 2-d array, any index type, unsorted or
    duplicate indices (summed), explicit zeros (dropped). Refused: NaN, infinite or negative weights, indices out
    of range, another number of columns than ``columns``.
    """
    if sp.issparse(matrix):
        _check_indices(matrix, name)
        X = sp.csr_array(matrix)  # a new object: without spare room in its arrays, and without flags that may be stale
    else:
        dense = np.asarray(matrix)
        if dense.ndim != 2 or not (np.issubdtype(dense.dtype, np.number) or dense.dtype == bool):
            raise InputError(
                f"{name} must be a list of texts, a list of token lists, or a sparse matrix with a row a document; "
                f"got {type(matrix).__name__} of shape {dense.shape} and type {dense.dtype}."
            )
        X = sp.csr_array(dense)
    if X.ndim != 2:
        raise InputError(f"{name} must have two dimensions (documents x words), got shape {X.shape}.")
    if columns is not None and X.shape[1] != columns:
        raise InputError(
            f"{name} has {X.shape[1]} columns, but the vocabulary has {columns} words. "
            "Encode the texts with the same embeddings that you pass."
        )
    if np.iscomplexobj(X.data):
        raise InputError(f"{name} holds complex numbers; weights are non-negative real numbers.")
    if X.data.dtype == bool or X.data.dtype.itemsize < 4:
        X = X.astype(np.float32)
    if np.issubdtype(X.data.dtype, np.floating) and not np.isfinite(X.data).all():
        bad = int(np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], side="right") - 1)
        raise InputError(f"{name} holds NaN or infinite weights (first in row {bad}). Weights must be finite and >= 0.")
    if X.nnz and X.data.min() < 0:
        bad = int(np.searchsorted(X.indptr, np.flatnonzero(X.data < 0)[0], side="right") - 1)
        raise InputError(f"{name} holds negative weights (first in row {bad}). Weights must be >= 0.")
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _check_indices(matrix: Any, name: str) -> None:
    """Refuse a compressed matrix whose pointers or indices would make any reader run past its arrays."""
    if getattr(matrix, "format", "") not in ("csr", "csc"):
        return
    indptr, indices = matrix.indptr, matrix.indices
    minor = matrix.shape[1] if matrix.format == "csr" else matrix.shape[0]
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] > len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{name} has a broken indptr (it must rise from 0 to the number of stored values).")
    used = indices[: indptr[-1]]
    if len(used) and (used.min() < 0 or used.max() >= minor):
        raise InputError(f"{name} has an index out of range: {used.min()} to {used.max()}, allowed 0 to {minor - 1}.")


@dataclass(frozen=True)
class Neighbors:
    """The k nearest documents of each query, sorted by (distance, index).

    A query with fewer than k candidates has -1 and inf in the places that are left.
    """

    indices: Int64Array
    distances: Float32Array
    solved: int = 0
    """How many exact transport problems were solved to get this (0 for distances that need none)."""
    counts: dict[str, int] = field(default_factory=dict)
    """What the search did, e.g. ``{"pairs": ..., "wcd": ..., "rwmd": ..., "solved": ...}``."""
    proved: BoolArray | None = None
    """With a budget: which places are proved to be exact. ``None`` means all of them."""

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[tuple[Int64Array, Float32Array]]:
        return iter(zip(self.indices, self.distances, strict=True))

    def __repr__(self) -> str:
        rows, k = self.indices.shape
        return f"Neighbors(queries={rows}, k={k}, solved={self.solved})"
