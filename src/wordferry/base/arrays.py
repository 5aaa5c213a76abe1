"""Array-shaped values that cross floors: the CSR triple kernels take, and the neighbours they give back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from wordferry.base.frames import COLOUR, Tabular, drawn_on
from wordferry.base.lazy import is_sparse
from wordferry.base.lazy import sparse as sp
from wordferry.errors import InputError

FloatArray = npt.NDArray[np.floating[Any]]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", bound=np.generic)


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
        low, high, shape = self.indptr[start], self.indptr[stop], (stop - start, self.shape[1])
        return Csr(self.indptr[start : stop + 1] - low, self.indices[low:high], self.data[low:high], shape)


def canonical_csr(matrix: Any, columns: int | None = None, *, name: str = "X") -> sp.csr_array:
    """Check a matrix of document weights and return it as a canonical ``csr_array``.

    Harmless differences are mended in a copy: any SciPy sparse flavour or 2-d array, any index type, unsorted or
    duplicate indices (summed), explicit zeros (dropped). Refused: NaN, infinite or negative weights, indices out
    of range, another number of columns than ``columns``.
    """
    if is_sparse(matrix):
        _check_indices(matrix, name)
        X = _as_csr(matrix, name)  # a new object: without spare room in its arrays, and without flags that may be stale
    else:
        dense = np.asarray(matrix)
        if dense.ndim != 2 or not (np.issubdtype(dense.dtype, np.number) or dense.dtype == bool):
            raise InputError(
                f"{name} must be a list of texts, a list of token lists, or a sparse matrix with one row per document; "
                f"got {type(matrix).__name__} of shape {dense.shape} and type {dense.dtype}."
            )
        X = sp.csr_array(dense)
    if columns is not None and X.shape[1] != columns:
        raise InputError(
            f"{name} has {X.shape[1]} columns, but the vocabulary has {columns} words. "
            "Encode the texts with the same embeddings that you pass."
        )
    if X.data.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {X.data.dtype}; weights are non-negative real numbers.")
    if X.data.dtype == bool or X.data.dtype.itemsize < 4:
        X = X.astype(np.float32)
    elif X.data.dtype.kind == "f" and X.data.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # a number too large for float64 is found as infinity, and named
            X = X.astype(np.float64)
    _check_values(X, name)
    if not X.has_canonical_format or not X.data.all():
        X = _merged(X, name)
    if X.nnz and not float(X.data.max()) < np.finfo(np.float64).max / X.nnz:  # else no row can add up to too much
        row_sums(X, name=name)
    return X


def row_sums(X: sp.csr_array, *, name: str = "X") -> Float64Array:
    """The sum of each row's weights in float64; a row whose sum is too large for it is refused.

    Masses are weights divided by these, so this is the one place where weights are known to become masses.
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    sums = np.bincount(rows, weights=X.data.astype(np.float64, copy=False), minlength=X.shape[0]).astype(np.float64)
    check_row_sums(sums, 0, name=name)
    return sums


def check_row_sums(sums: Float64Array, first: int, *, name: str = "X") -> None:
    """Refuse sums of weights, of the rows from ``first`` on, that are too large to make shares of the weights."""
    if not np.isfinite(sums).all():
        raise InputError(
            f"The weights of {name}, row {first + int(np.flatnonzero(~np.isfinite(sums))[0])}, add up to more than "
            f"{np.finfo(np.float64).max:.1e}, so they cannot be made into shares. Divide the weights by a large number."
        )


def _check_values(X: sp.csr_array, name: str) -> None:
    """Every stored weight is finite and not negative, before any two of them are added."""
    if X.data.dtype.kind == "f" and not np.isfinite(X.data).all():
        wrong, what, allowed = ~np.isfinite(X.data), "NaN or infinite", "finite and >= 0"
    elif X.nnz and X.data.min() < 0:
        wrong, what, allowed = X.data < 0, "negative", ">= 0"
    else:
        return
    row = np.searchsorted(X.indptr, np.flatnonzero(wrong)[0], side="right") - 1
    raise InputError(f"{name} holds {what} weights (first in row {row}). Weights must be {allowed}.")


def _merged(X: sp.csr_array, name: str) -> sp.csr_array:
    """A sorted copy without duplicates and zeros; duplicates are summed in a type that holds every sum of a row."""
    whole = X.data.dtype.kind in "iu"
    if whole and X.data.dtype.itemsize >= 8 and (too_large := np.flatnonzero(row_sums(X, name=name) >= 2.0**62)).size:
        raise InputError(
            f"The whole weights of {name}, row {int(too_large[0])}, add up to 2**62 or more. Pass them as float64."
        )
    merged = X.astype(np.int64 if whole else np.float64)
    merged.sum_duplicates()
    merged.eliminate_zeros()
    return merged


def _as_csr(matrix: Any, name: str) -> sp.csr_array:
    """Any sparse flavour as CSR, its duplicates left as they are: SciPy would add them in a type that may overflow."""
    if matrix.ndim != 2:
        raise InputError(f"{name} must have two dimensions (documents x words), got shape {matrix.shape}.")
    if matrix.format == "csr":
        return sp.csr_array(matrix)
    coo = matrix.tocoo(copy=False)
    for places, size in zip((coo.row, coo.col), coo.shape, strict=True):
        _check_range(places, size, name)
    order = np.argsort(coo.row, kind="stable")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(coo.row, minlength=coo.shape[0]))))
    return sp.csr_array((coo.data[order], coo.col[order], indptr), shape=coo.shape)


def _check_indices(matrix: Any, name: str) -> None:
    """Refuse a compressed matrix whose pointers or indices would make any reader run past its arrays."""
    if getattr(matrix, "format", "") not in ("csr", "csc", "bsr"):
        return
    indptr, indices = matrix.indptr, matrix.indices
    minor = matrix.shape[0] if matrix.format == "csc" else matrix.shape[1]
    if matrix.format == "bsr":
        minor //= matrix.blocksize[1]
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] > len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{name} has a broken indptr (it must rise from 0 to the number of stored values).")
    _check_range(indices[: indptr[-1]], minor, name)


def _check_range(used: Any, size: int, name: str) -> None:
    if len(used) and (used.min() < 0 or used.max() >= size):
        raise InputError(f"{name} has an index out of range: {used.min()} to {used.max()}, allowed 0 to {size - 1}.")


def run_bounds(values: Int64Array) -> Int64Array:
    """Where runs of equal values begin, and last of all where the last one ends.

    >>> run_bounds(np.array([4, 4, 7])).tolist()
    [0, 2, 3]
    """
    begins = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate(([0], begins, [len(values)])) if len(values) else np.zeros(1, dtype=np.int64)


def entries_of(indptr: npt.NDArray[Any], rows: npt.NDArray[Any]) -> tuple[Int64Array, Int64Array]:
    """The entries of some rows of CSR arrays, one row after the other, and before them where each row begins and ends.

    >>> entries_of(np.array([0, 2, 3, 5]), np.array([2, 0]))
    (array([0, 2, 4]), array([3, 4, 0, 1]))
    """
    starts, lengths = indptr[rows].astype(np.int64), indptr[rows + 1] - indptr[rows]
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return ends, np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])


def distinct(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """What np.unique gives, which loads all of NumPy's masked arrays when it is first called."""
    rising = np.sort(values)
    first = np.ones(len(rising), dtype=bool)
    first[1:] = rising[1:] != rising[:-1]
    return rising[first]


@dataclass(frozen=True)
class Neighbors(Tabular):
    """The k nearest documents of each query, sorted by (distance, index).

    There are as many columns as places, and no more than the collection has documents. A query with fewer candidates
    has -1 and inf in the places that are left.
    """

    indices: Int64Array
    distances: Float32Array
    solved: int = 0
    """How many exact transport problems were solved to get this (0 for distances that need none)."""
    counts: dict[str, int] = field(default_factory=dict)
    """What the search did, e.g. ``{"pairs": ..., "wcd": ..., "rwmd": ..., "solved": ...}``."""
    proved: BoolArray | None = None
    """With a budget: which places are proved to be exact. ``None`` means all of them."""

    @classmethod
    def merge(cls, parts: Sequence[Neighbors], k: int) -> Neighbors:
        """The k nearest of a collection that was searched in parts, as if it had been searched undivided.

        Parts number their documents as the whole does (see :meth:`renumbered`), share none, and each holds its own k
        nearest of every query, or everything it has. A place is proved when no part can have left out a document
        that belongs before it.

        >>> near = Neighbors(np.array([[0, 2]]), np.array([[0.5, 0.9]], np.float32))
        >>> more = Neighbors(np.array([[1, -1]]), np.array([[0.5, np.inf]], np.float32))
        >>> Neighbors.merge([near, more], 2).indices.tolist()
        [[0, 1]]
        """
        if not parts or k < 1:
            raise InputError(f"merge needs at least one part and k >= 1; got {len(parts)} parts and k = {k}.")
        if len({len(part) for part in parts}) > 1:
            raise InputError(f"parts must answer the same queries; they have {[len(part) for part in parts]} rows.")
        if len(parts) == 1 and parts[0].indices.shape[1] == k:
            return parts[0]
        first = parts[0].resized(parts[0].indices.shape[1] + k)  # the result has k places however few the parts have
        indices = np.concatenate([first.indices, *(part.indices for part in parts[1:])], axis=1)
        distances = np.concatenate([first.distances, *(part.distances for part in parts[1:])], axis=1)
        ties = np.where(indices < 0, np.iinfo(np.int64).max, indices)  # an empty place comes after every document
        order = np.lexsort((ties, distances), axis=1)[:, :k]
        found = cls(
            np.take_along_axis(indices, order, axis=1),
            np.take_along_axis(distances, order, axis=1),
            sum(part.solved for part in parts),
            summed([part.counts for part in parts]),
        )
        if all(part.proved is None for part in parts):
            return found
        return replace(found, proved=np.logical_and.reduce([_not_after_the_proved(found, part) for part in parts]))

    def resized(self, k: int) -> Neighbors:
        """The first k places of each query; places beyond those that are there are empty (-1, inf)."""
        more = k - self.indices.shape[1]
        if more == 0:
            return self
        room = ((0, 0), (0, more))
        return self._each(lambda table, empty: np.pad(table, room, constant_values=empty) if more > 0 else table[:, :k])

    def _each(self, change: Callable[[Any, Any], Any]) -> Neighbors:
        """These with each table changed; ``change`` also gets what an empty place has in it."""
        proved = None if self.proved is None else change(self.proved, True)
        indices, distances = change(self.indices, -1), change(self.distances, np.inf)
        return replace(self, indices=indices, distances=distances, proved=proved)

    def renumbered(self, numbers: Int64Array) -> Neighbors:
        """Document i becomes document ``numbers[i]``; numbers must rise, so that ties keep their order."""
        if not len(numbers) or numbers[-1] == len(numbers) - 1:  # which are 0, 1, ... then
            return self
        return replace(self, indices=np.where(self.indices >= 0, numbers[self.indices], -1))

    def without_self(self, first: int = 0) -> Neighbors:
        """One place fewer: each query, which is document ``first``, ``first + 1`` ... itself, is not its own neighbour.

        Where more equal documents than there are places came before it, the last place goes.
        """
        own = self.indices == np.arange(first, first + len(self))[:, None]
        own[~own.any(axis=1), -1] = True
        shape = len(self), self.indices.shape[1] - 1
        return self._each(lambda table, empty: table[~own].reshape(shape))

    def to_columns(self) -> dict[str, Any]:
        """One row per neighbour: the number of the query, its rank from 1, the index found, and the distance.

        Places that are left (-1) have no row.
        """
        queries, places = np.nonzero(self.indices >= 0)
        found = {
            "query": queries,
            "rank": places + 1,
            "index": self.indices[queries, places],
            "distance": self.distances[queries, places],
        }
        return found if self.proved is None else {**found, "proved": self.proved[queries, places]}

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[tuple[Int64Array, Float32Array]]:
        return iter(zip(self.indices, self.distances, strict=True))

    def plot(self, ax: Any = None) -> Any:
        """How far the nearest, the second nearest ... are: a line for the median query, shades for all of them.

        Drawn on ``ax``, which then comes back, or on a figure of its own, which a notebook shows.
        """
        axes, result = drawn_on(ax, 7.0, 3.5)
        found = np.where(np.isfinite(self.distances), self.distances, np.nan)
        held = np.flatnonzero(np.isfinite(found).any(axis=0))
        if len(held):
            low, middle, high = np.nanquantile(found[:, held], (0.0, 0.5, 1.0), axis=0)
            axes.fill_between(held + 1, low, high, alpha=0.2, color=COLOUR, linewidth=0)
            axes.plot(held + 1, middle, color=COLOUR, marker="o", markersize=3)
        axes.set_xlabel("rank")
        axes.set_ylabel("distance")
        axes.set_title(f"distances of {len(self):,} queries: the median, and all of them", fontsize=10)
        return result

    def __repr__(self) -> str:
        rows, k = self.indices.shape
        return f"Neighbors(queries={rows}, k={k}, solved={self.solved})"


def summed(tallies: Sequence[dict[str, int]]) -> dict[str, int]:
    """Several tallies as one."""
    names = dict.fromkeys(name for tally in tallies for name in tally)
    return {name: sum(tally.get(name, 0) for tally in tallies) for name in names}


def _not_after_the_proved(found: Neighbors, part: Neighbors) -> BoolArray:
    """Which places of ``found`` come no later than the last place that a part proved before its first gap."""
    if part.proved is None or part.proved.all():
        return np.ones(found.indices.shape, dtype=bool)
    sure = np.where(part.proved.all(axis=1), part.proved.shape[1], part.proved.argmin(axis=1))
    last = np.maximum(sure - 1, 0)[:, None]
    distance = np.take_along_axis(part.distances, last, axis=1)
    index = np.take_along_axis(part.indices, last, axis=1)
    before = (found.distances < distance) | ((found.distances == distance) & (found.indices <= index))
    whole = sure == part.proved.shape[1]
    result: BoolArray = whole[:, None] | ((sure > 0)[:, None] & before & (found.indices >= 0))
    return result


class Counts(NamedTuple):
    """Words and how often they come, of one document after the other: the rows of a CSR matrix of counts."""

    indptr: Int64Array
    words: npt.NDArray[Any]
    counts: npt.NDArray[Any]

    def select(self, rows: Int64Array) -> Counts:
        """Some rows, in the order given."""
        indptr, entries = entries_of(self.indptr, rows)
        return Counts(indptr, self.words[entries], self.counts[entries])

    @classmethod
    def join(cls, parts: Sequence[Counts]) -> Counts:
        """The rows of several, one after the other."""
        starts = np.cumsum([0, *(len(part.words) for part in parts)])
        ends = [part.indptr[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
        none = [np.zeros(0, dtype=np.int32)] if not parts else []
        return cls(
            np.concatenate([np.zeros(1, dtype=np.int64), *ends]),
            np.concatenate([*none, *(part.words for part in parts)]),
            np.concatenate([*none, *(part.counts for part in parts)]),
        )

    @property
    def totals(self) -> Int64Array:
        """The sum of the counts of each row."""
        sums = np.concatenate(([0], np.cumsum(self.counts, dtype=np.int64)))
        return np.diff(sums[self.indptr])
