"""Exact transport of one set of masses onto another, with its plan and proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array, Int32Array, Int64Array
from wordferry.base.runtime import Run, device_name
from wordferry.compare.bags import SCALE, scaled_masses
from wordferry.device.launch import available, runtime
from wordferry.device.transport import Given
from wordferry.errors import InputError, SolverError
from wordferry.kernels import passes as kernels
from wordferry.kernels.passes import Proof

_LARGEST_MASS = 2**61
_SMALLEST, _LARGEST = 1e-150, 1e150
"""Sums of masses that can be scaled to whole numbers and back without leaving the range of float64."""
_SUM_TOLERANCE = 1e-6
_BOUNDED = 1e-9
"""What the CPU's solver proves of every answer."""
_AT_ONCE = 1 << 16
"""Problems that are put on a GPU at a time."""


@dataclass(frozen=True)
class TransportPlan:
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
    plan: TransportPlan
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

    Returns
    -------
    Transport
        The cost, the plan, the duals that prove it, and how they prove it.

    Masses that are not whole numbers must have a sum between 1e-150 and 1e150; a cost of the plan that is too large for
    float64 is an error.

    Examples
    --------
    >>> solve([1, 2], [2, 1], [[0.0, 1.0], [1.0, 3.0]]).cost
    3.0
    """
    a, b, unit = _whole_masses(np.asarray(masses_a), np.asarray(masses_b))
    matrix = _checked_costs(costs, (len(a), len(b)))
    rows, columns = np.flatnonzero(a), np.flatnonzero(b)
    duals = np.zeros(len(a)), np.zeros(len(b))
    if not len(rows):
        nothing = np.zeros(0, np.int32)
        return Transport(0.0, TransportPlan(nothing, nothing, np.zeros(0, a.dtype)), duals, 0, "exact")
    used = matrix if len(rows) == len(a) and len(columns) == len(b) else matrix[np.ix_(rows, columns)]
    found = kernels.transport_one(a[rows], b[columns], np.ascontiguousarray(used))
    if found.proof == Proof.failed:
        bad = int((~np.isfinite(used)).sum())
        raise SolverError(f"{bad} of {used.size} costs are NaN or infinite. Give every arc a finite cost.")
    duals[0][rows], duals[1][columns] = found.source_duals, found.sink_duals
    masses = found.masses if unit == 1 else found.masses * unit
    plan = TransportPlan(rows[found.sources].astype(np.int32), columns[found.sinks].astype(np.int32), masses)
    cost = found.total * unit
    if not (np.isfinite(cost) and np.isfinite(duals[0]).all() and np.isfinite(duals[1]).all()):
        raise InputError(
            f"The cheapest plan costs {cost:g}, too much for float64 (the largest cost is {np.abs(used).max():.3g}). "
            "Divide the costs by a large number."
        )
    return Transport(cost, plan, duals, found.pivots, found.proof.name)


@dataclass(frozen=True, eq=False)
class TransportBatch:
    """The cheapest transports of many problems."""

    costs: Float64Array
    gaps: Float64Array
    """For each problem a proved bound on how far its cost can be above the optimum, relative to the cost."""
    on_device: int
    """Problems whose answer is that of the GPU."""
    on_cpu: int
    """Problems that the CPU has solved: all without a GPU, else those that were too large or not proved there."""

    def __len__(self) -> int:
        return len(self.costs)


def solve_batch(
    masses_a: Any,
    masses_b: Any,
    costs: Any,
    *,
    tolerance: float = 1e-9,
    threads: int | None = None,
    device: str | None = None,
) -> TransportBatch:
    """Solve many transportation problems, each to a proved optimum.

    Parameters
    ----------
    masses_a, masses_b, costs : one entry for each problem, as :func:`solve` takes them: lists of arrays of any sizes,
        or stacked arrays of shapes (problems, sources), (problems, sinks) and (problems, sources, sinks).
    tolerance : the proved bound on how far a cost can be above the optimum, relative to it. What a GPU does not prove
        to this is solved on the CPU, which proves 1e-9.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    device : where to compute: "cpu", "cuda" (one NVIDIA GPU) or "auto" (a GPU where there is one); None means
        ``WORDFERRY_DEVICE``, else "cpu".

    Returns
    -------
    TransportBatch
        The cost of each problem, and a proved bound on how far it can be above the optimum.

    Examples
    --------
    >>> batch = solve_batch([[1, 2], [1, 1]], [[2, 1], [2]], [[[0, 1], [1, 3]], [[1], [5]]])
    >>> batch.costs.tolist(), bool((batch.gaps <= 1e-9).all())
    ([3.0, 6.0], True)
    """
    run, where = Run(threads=threads, device=device), device_name(device)
    counts = {len(part) for part in (masses_a, masses_b, costs)}
    if len(counts) > 1:
        raise InputError(f"masses_a, masses_b and costs must have as many entries; got {sorted(counts)}.")
    count, on_device = len(costs), 0
    values, gaps, units = np.zeros(count), np.zeros(count), np.ones(count)
    for stack in _stacks(masses_a, masses_b, costs):
        left = np.arange(len(stack.numbers))
        if where == "cuda" or (where == "auto" and available()):
            left = _solve_on_device(stack, tolerance, (values, gaps))
        _solve_on_cpu(stack, left, run.workers, (values, gaps))
        units[stack.numbers] = stack.units
        on_device += len(stack.numbers) - len(left)
    return TransportBatch(values * units, gaps, on_device, count - on_device)


@dataclass(frozen=True, eq=False)
class _Stack:
    """Problems of one shape, of positive whole masses, sinks no more than sources."""

    numbers: Int64Array
    a: Int64Array
    b: Int64Array
    costs: Float64Array
    units: Float64Array

    @classmethod
    def of(cls, numbers: list[int], problems: list[_Whole]) -> _Stack:
        """Problems stacked; ``numbers`` are their places among all."""
        a, b, costs = (np.stack([getattr(one, part) for one in problems]) for part in ("a", "b", "costs"))
        return cls(np.array(numbers, dtype=np.int64), a, b, costs, np.array([one.unit for one in problems]))


def _stacks(masses_a: Any, masses_b: Any, costs: Any) -> Iterator[_Stack]:
    """All problems that have costs, those of one shape together."""
    apart: Any = range(len(costs))
    if all(isinstance(part, np.ndarray) for part in (masses_a, masses_b, costs)) and len(costs):
        whole = _stacked(masses_a, masses_b, costs)
        if whole is not None:
            yield whole
            apart = np.setdiff1d(np.arange(len(costs)), whole.numbers).tolist()
    shapes: dict[tuple[int, ...], list[tuple[int, _Whole]]] = {}
    for number in apart:
        one = _Whole.of(masses_a[number], masses_b[number], costs[number], number)
        if one.costs.size:
            shapes.setdefault(one.costs.shape, []).append((number, one))
    for some in shapes.values():
        yield _Stack.of([number for number, _ in some], [one for _, one in some])


def _stacked(a: Any, b: Any, costs: Any) -> _Stack | None:
    """The problems of stacked arrays at once, without those whose masses or costs need a closer look."""
    kinds = [part.dtype.kind for part in (a, b, costs)]
    if (a.ndim, b.ndim) != (2, 2) or costs.shape != (len(a), a.shape[1], b.shape[1]) or set(kinds) - set("iuf"):
        return None
    with np.errstate(all="ignore"):  # what is not finite is looked at one by one, and named
        sums = a.sum(axis=1, dtype=np.float64), b.sum(axis=1, dtype=np.float64)
        sound = np.isfinite(costs).all(axis=(1, 2)) & (a > 0).all(axis=1) & (b > 0).all(axis=1)
        sound &= np.abs(sums[0] - sums[1]) <= _SUM_TOLERANCE * np.maximum(*sums)
        sound &= (np.minimum(*sums) >= _SMALLEST) & (np.maximum(*sums) <= _LARGEST)
    units = sums[0] / SCALE
    if set(kinds[:2]) <= set("iu"):
        sound &= (a.sum(axis=1) == b.sum(axis=1)) & (np.maximum(*sums) < _LARGEST_MASS)
        units = np.ones(len(a))
    numbers = np.flatnonzero(sound)
    if not len(numbers):
        return None
    a, b, matrices = a[numbers], b[numbers], costs[numbers].astype(np.float64)
    if set(kinds[:2]) <= set("iu"):
        a, b = a.astype(np.int64), b.astype(np.int64)
    else:
        a, b = (scaled_masses(np.arange(len(x) + 1) * x.shape[1], x.ravel()).reshape(x.shape) for x in (a, b))
    if a.shape[1] < b.shape[1]:
        a, b, matrices = b, a, np.ascontiguousarray(matrices.swapaxes(1, 2))
    return _Stack(numbers, a, b, matrices, units[numbers])


@dataclass(frozen=True)
class _Whole:
    """One problem of positive whole masses, sinks no more than sources."""

    a: Int64Array
    b: Int64Array
    costs: Float64Array
    unit: float

    @classmethod
    def of(cls, masses_a: Any, masses_b: Any, costs: Any, number: int) -> _Whole:
        """From what a caller passed; errors name the problem."""
        try:
            a, b, unit = _whole_masses(np.asarray(masses_a), np.asarray(masses_b))
            matrix = _checked_costs(costs, (len(a), len(b)))
        except InputError as error:
            raise InputError(f"Problem {number}: {error}") from None
        if not a.all() or not b.all():
            matrix = np.ascontiguousarray(matrix[np.ix_(a > 0, b > 0)])
            a, b = a[a > 0], b[b > 0]
        if not np.isfinite(matrix).all():
            raise InputError(f"Problem {number} has costs that are NaN or infinite. Give every arc a finite cost.")
        if len(a) < len(b):
            return cls(b, a, np.ascontiguousarray(matrix.T), unit)
        return cls(a, b, matrix, unit)


def _solve_on_device(stack: _Stack, tolerance: float, out: tuple[Float64Array, Float64Array]) -> Int64Array:
    """Solve problems on a GPU; the places of those that are not proved to the tolerance come back."""
    left: list[Int64Array] = []
    for low in range(0, len(stack.numbers), _AT_ONCE):
        some = slice(low, low + _AT_ONCE)
        a, b, costs = stack.a[some], stack.b[some], stack.costs[some]
        places, (rows, columns) = np.arange(len(a) + 1), costs.shape[1:]
        ends = places * rows, places * columns, places * (rows * columns)
        found, device = Given(*ends, a.ravel(), b.ravel(), costs.ravel()).solve(), runtime()
        values, gaps, proved = (device.get(part) for part in (found.values, found.gaps, found.proved(tolerance)))
        chosen, values, gaps = stack.numbers[some][proved], values[proved], gaps[proved]
        out[0][chosen] = values
        out[1][chosen] = np.divide(gaps, np.abs(values), out=np.zeros(len(chosen)), where=values != 0)
        left.append(low + np.flatnonzero(~proved))
    return np.concatenate(left)


def _solve_on_cpu(stack: _Stack, places: Int64Array, threads: int, out: tuple[Float64Array, Float64Array]) -> None:
    """Solve some problems of a stack on the CPU."""
    if not len(places):
        return
    numbers = stack.numbers[places]
    values, _, proofs = kernels.transport_many(stack.a[places], stack.b[places], stack.costs[places], threads)
    if (proofs == int(Proof.failed.value)).any():
        raise SolverError(f"Problem {numbers[int(np.argmin(proofs))]} has an optimum that is too large for float64.")
    out[0][numbers] = values
    out[1][numbers] = np.where(proofs == int(Proof.exact.value), 0.0, _BOUNDED)


def _checked_costs(costs: Any, shape: tuple[int, int]) -> Float64Array:
    given = np.asarray(costs)
    if given.shape != shape or given.dtype.kind not in "biuf":
        came = f"{given.dtype} of shape {given.shape}"
        raise InputError(f"costs must be numbers of shape {shape}, one row for each source; got {came}.")
    with np.errstate(over="ignore"):  # a long double that is too large is found as infinity, and named
        return np.ascontiguousarray(given, dtype=np.float64)


def _whole_masses(a: Any, b: Any) -> tuple[Int64Array, Int64Array, float]:
    """Whole masses of equal sums, and what one unit of them is."""
    for name, masses in (("masses_a", a), ("masses_b", b)):
        if masses.ndim != 1 or not np.issubdtype(masses.dtype, np.number) or np.iscomplexobj(masses):
            raise InputError(f"{name} must be a vector of numbers; got shape {masses.shape}, type {masses.dtype}.")
        if not np.isfinite(masses).all() or (masses < 0).any():
            raise InputError(f"{name} must be finite and not negative.")
    with np.errstate(over="ignore"):
        sums = float(a.sum(dtype=np.float64)), float(b.sum(dtype=np.float64))
    for total, name in zip(sums, ("masses_a", "masses_b"), strict=True):
        if total and not _SMALLEST <= total <= _LARGEST:
            raise InputError(f"The sum of {name} is {total:.3g}; it must be 0 or from {_SMALLEST:g} to {_LARGEST:g}.")
    if np.issubdtype(a.dtype, np.integer) and np.issubdtype(b.dtype, np.integer) and max(sums) < _LARGEST_MASS:
        if int(a.sum(dtype=np.int64)) != int(b.sum(dtype=np.int64)):
            raise InputError(f"The masses must have equal sums; got {sums[0]:g} and {sums[1]:g}.")
        return a.astype(np.int64), b.astype(np.int64), 1
    if abs(sums[0] - sums[1]) > _SUM_TOLERANCE * max(sums):
        raise InputError(f"The masses must have equal sums; got {sums[0]:g} and {sums[1]:g}.")
    if max(sums) == 0:
        return np.zeros(len(a), np.int64), np.zeros(len(b), np.int64), 1
    ends = [np.array([0, len(a)]), np.array([0, len(b)])]
    return scaled_masses(ends[0], a), scaled_masses(ends[1], b), sums[0] / SCALE
