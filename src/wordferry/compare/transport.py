"""Exact transport: one problem with its plan and proof, and all pairs of two sets of documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, Float64Array, FloatArray, Int32Array, Int64Array
from wordferry.compare.problem import Problem
from wordferry.errors import InputError, SolverError
from wordferry.kernels import native_transport as kernels
from wordferry.kernels.native_transport import Kind

ACT_TRANSFERS = 7
"""Constrained transfers of ``act`` before what is left pays the next distance (the paper's ACT-7)."""

_SCALE = 2**52
"""The whole mass that weights which are no whole numbers are scaled to."""
_LARGEST_MASS = 2**61
_COST_BYTES = 64 << 20
_ROWS_A_CALL = 512
_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Plan:
    """The arcs that carry mass: ``masses[k]`` goes from ``sources[k]`` to ``sinks[k]``."""

    sources: Int32Array
    sinks: Int32Array
    masses: Any

    def to_dense(self, shape: tuple[int, int]) -> Float64Array:
        """The plan as a matrix."""
        dense = np.zeros(shape)
        np.add.at(dense, (self.sources, self.sinks), self.masses)
        return dense


@dataclass(frozen=True)
class Transport:
    """The cheapest transport of one set of masses onto another."""

    cost: float
    plan: Plan
    duals: tuple[Float64Array, Float64Array]
    """One number a source and one a sink: their sum is at most the cost of an arc, and equal to it on the plan."""
    pivots: int
    certified: str
    """How optimality is proved: "bounded" (the gap to the duals is at most 1e-9 of the cost, rounding included) or
    "exact" (the duals hold in exact arithmetic)."""


def solve(masses_a: Any, masses_b: Any, costs: Any) -> Transport:
    """Solve one transportation problem to a proved optimum.

    Parameters
    ----------
    masses_a, masses_b : non-negative masses of the sources and the sinks with equal sums. Whole numbers are used as
        they are; others are scaled to whole numbers, which moves less than 1e-15 of the mass.
    costs : (sources, sinks) finite costs of moving one unit.

    >>> solve([1, 2], [2, 1], [[0.0, 1.0], [1.0, 3.0]]).cost
    3.0
    """
    a, b, unit = _whole_masses(np.asarray(masses_a), np.asarray(masses_b))
    matrix = np.ascontiguousarray(costs, dtype=np.float64)
    if matrix.shape != (len(a), len(b)):
        raise InputError(f"costs must have shape {(len(a), len(b))}, one row a source; got {matrix.shape}.")
    rows, columns = np.flatnonzero(a), np.flatnonzero(b)
    duals = np.zeros(len(a)), np.zeros(len(b))
    if not len(rows):
        nothing = np.zeros(0, np.int32)
        return Transport(0.0, Plan(nothing, nothing, np.zeros(0, a.dtype)), duals, 0, "exact")
    used = matrix if len(rows) == len(a) and len(columns) == len(b) else matrix[np.ix_(rows, columns)]
    found = kernels.transport_one(a[rows], b[columns], np.ascontiguousarray(used))
    if found.proof == 0:
        bad = int((~np.isfinite(used)).sum())
        raise SolverError(f"{bad} of {used.size} costs are NaN or infinite. Give every arc a finite cost.")
    duals[0][rows], duals[1][columns] = found.source_duals, found.sink_duals
    masses = found.masses if unit == 1 else found.masses * unit
    plan = Plan(rows[found.sources].astype(np.int32), columns[found.sinks].astype(np.int32), masses)
    return Transport(found.total * unit, plan, duals, found.pivots, "exact" if found.proof == 2 else "bounded")


def _whole_masses(a: Any, b: Any) -> tuple[Int64Array, Int64Array, float]:
    """Whole masses of equal sums, and what one unit of them is."""
    for name, masses in (("masses_a", a), ("masses_b", b)):
        if masses.ndim != 1 or not np.issubdtype(masses.dtype, np.number) or np.iscomplexobj(masses):
            raise InputError(f"{name} must be a vector of numbers; got shape {masses.shape}, type {masses.dtype}.")
        if not np.isfinite(masses).all() or (masses < 0).any():
            raise InputError(f"{name} must be finite and not negative.")
    sums = float(a.sum(dtype=np.float64)), float(b.sum(dtype=np.float64))
    if np.issubdtype(a.dtype, np.integer) and np.issubdtype(b.dtype, np.integer) and max(sums) < _LARGEST_MASS:
        if int(a.sum(dtype=np.int64)) != int(b.sum(dtype=np.int64)):
            raise InputError(f"The masses must have equal sums; got {sums[0]:g} and {sums[1]:g}.")
        return a.astype(np.int64), b.astype(np.int64), 1
    if abs(sums[0] - sums[1]) > _SUM_TOLERANCE * max(sums):
        raise InputError(f"The masses must have equal sums; got {sums[0]:g} and {sums[1]:g}.")
    if max(sums) == 0:
        return np.zeros(len(a), np.int64), np.zeros(len(b), np.int64), 1
    ends = [np.array([0, len(a)]), np.array([0, len(b)])]
    return scaled_masses(ends[0], a), scaled_masses(ends[1], b), sums[0] / _SCALE


def scaled_masses(indptr: Int64Array, data: FloatArray) -> Int64Array:
    """Weights of each row scaled to whole numbers that sum to 2**52.

    Shares are rounded down (a positive one to at least 1); what is then missing, or too much, goes to the largest
    weight of the row, of equal ones to the first.
    """
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    values = np.asarray(data, dtype=np.float64)
    sums = np.bincount(rows, weights=values, minlength=len(lengths))
    shares = np.divide(values, sums[rows], out=np.zeros_like(values), where=sums[rows] > 0)
    whole: Int64Array = np.maximum(np.floor(shares * _SCALE), values > 0).astype(np.int64)
    filled = np.flatnonzero(sums > 0)
    starts = indptr[:-1][filled]
    if not len(filled):
        return whole
    used = slice(starts[0], None)  # reduceat takes everything up to the next start; empty rows hold nothing
    offsets = starts - starts[0]
    largest = np.repeat(np.maximum.reduceat(values[used], offsets), lengths[filled])
    at_largest = np.flatnonzero(values[used] == largest)
    first = at_largest[np.unique(rows[used][at_largest], return_index=True)[1]]
    whole[used][first] += _SCALE - np.add.reduceat(whole[used], offsets)
    return whole


def whole_bags(problem: Problem) -> tuple[Csr, Csr]:
    """Both sides with whole weights: the counts where there are counts that multiply without overflow."""
    x, y = problem.x, problem.y
    if problem.x_counts is not None and problem.y_counts is not None:
        sums = int(problem.x_counts.sum()) * int(problem.y_counts.sum())
        if sums >= _LARGEST_MASS:  # all counts together; what matters is the largest rows
            largest = [int(_row_sums(bag.indptr, data).max(initial=0)) for bag, data in _counted(problem)]
            sums = largest[0] * largest[1]
        if sums < _LARGEST_MASS:
            return _with_data(x, problem.x_counts), _with_data(y, problem.y_counts)
    first = _with_data(x, scaled_masses(x.indptr, x.data))
    return first, first if problem.symmetric else _with_data(y, scaled_masses(y.indptr, y.data))


def _counted(problem: Problem) -> tuple[tuple[Csr, Any], tuple[Csr, Any]]:
    return (problem.x, problem.x_counts), (problem.y, problem.y_counts)


def _row_sums(indptr: Int64Array, data: Int64Array) -> Int64Array:
    ends = np.concatenate(([0], np.cumsum(data)))
    result: Int64Array = ends[indptr[1:]] - ends[indptr[:-1]]
    return result


def _with_data(bag: Csr, data: Any) -> Csr:
    return Csr(bag.indptr, bag.indices, np.ascontiguousarray(data), bag.shape)


@dataclass(frozen=True)
class Block:
    """Some rows of x, ready to be compared with all of y."""

    start: int
    stop: int
    documents: kernels.Documents


def blocks(problem: Problem, start: int = 0, stop: int | None = None) -> Iterator[Block]:
    """The rows ``start`` to ``stop`` of x in blocks, the distances of whose words to all of y's are computed once."""
    x, y = whole_bags(problem)
    x = x.rows(start, x.shape[0] if stop is None else stop)
    if problem.graph is not None:
        for low in range(0, x.shape[0], _ROWS_A_CALL):
            high = min(low + _ROWS_A_CALL, x.shape[0])
            documents = kernels.Documents(x.rows(low, high), y)
            documents.related(problem.graph, problem.c_max, problem.overlap == "keep")
            yield Block(start + low, start + high, documents)
        return
    assert problem.vectors is not None
    vectors = problem.vectors
    column_words, column_of = _numbered(y.indices, len(vectors))
    targets = vectors if len(column_words) == len(vectors) else vectors[column_words]
    for low, high in _query_ranges(x, len(targets)):
        part = x.rows(low, high)
        row_words, row_of = _numbered(part.indices, len(vectors))
        costs = kernels.word_distances(vectors[row_words], targets, problem.threads)
        documents = kernels.Documents(part, y)
        documents.distances(costs, row_of, column_of, _kind(problem), ACT_TRANSFERS)
        yield Block(start + low, start + high, documents)


def _numbered(indices: Int32Array, words: int) -> tuple[Int64Array, Int32Array]:
    """The words that occur, rising, and the place of each of all words among them (-1 for the others)."""
    place_of = np.full(words, -1, np.int32)
    place_of[indices] = 0
    present = np.flatnonzero(place_of == 0)
    place_of[present] = np.arange(len(present), dtype=np.int32)
    return present, place_of


def _query_ranges(x: Csr, targets: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose words' distances to ``targets`` words fit in a fixed amount of memory."""
    room = max(1, _COST_BYTES // (4 * max(targets, 1)))
    if x.shape[0] <= _ROWS_A_CALL and x.nnz <= room:
        if x.shape[0]:
            yield 0, x.shape[0]
        return
    seen = np.full(x.shape[1], -1, np.int64)
    start = used = 0
    for row in range(x.shape[0]):
        indices = x.row(row)[0]
        fresh = int((seen[indices] != start).sum())
        if row > start and (used + fresh > room or row - start == _ROWS_A_CALL):
            yield start, row
            start, used = row, 0
            fresh = len(indices)
        seen[indices] = start
        used += fresh
    if start < x.shape[0]:
        yield start, x.shape[0]


def _kind(problem: Problem) -> Kind:
    if problem.distance.name != "act":
        return Kind.WMD
    return Kind.ACT_RESIDUAL if problem.overlap == "residual" else Kind.ACT_OMR


def pairwise_problem(problem: Problem, out: Float32Array) -> Float32Array:
    """All values of a transport distance (or of ``act``), written to ``out``."""
    for block in blocks(problem):
        part = out[block.start : block.stop]
        where = block.documents.all_pairs(part, problem.threads, mirror_from=block.start if problem.symmetric else None)
        raise_unsolved(problem, block, where)
        if problem.symmetric:
            out[block.stop :, block.start : block.stop] = part[:, block.stop :].T
            square = part[:, block.start : block.stop]
            low = np.tril_indices(len(square), -1)
            square[low] = square.T[low]
        if problem.progress is not None:
            problem.progress(block.stop, problem.shape[0])
    return out


def raise_unsolved(problem: Problem, block: Block, where: tuple[int, int]) -> None:
    """SolverError for a pair whose costs have no optimum."""
    if where[0] < 0:
        return
    raise SolverError(
        f"Documents {int(problem.x_rows[block.start + where[0]])} and {int(problem.y_rows[where[1]])} have word "
        "distances that are NaN or infinite. Vectors must be of moderate size: pass normalize=True to Embeddings."
    )
