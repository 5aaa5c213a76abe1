"""Exact nearest documents for the transport distances: cheap lower bounds first, problems solved only where they win.

Every row of Y gets a lower bound for each query (wcd and rwmd for wmd, rel-rwmd for rel-wmd). Rows are taken in rising
order of the bound; a dual ascent tightens it, and only what can still be among the k nearest is solved. The answer is
that of solving everything, ties included.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Neighbors
from wordferry.base.runtime import Report
from wordferry.compare import relaxed
from wordferry.compare.measures import DISTANCES
from wordferry.compare.problem import Problem
from wordferry.compare.transport import blocks, raise_unsolved
from wordferry.errors import InputError

_SLACK = 2e-5
"""What the float32 kernels may add to a bound, relative to the largest cost: twice what their tests allow."""
_SHARE_OF_BOUNDS = 0.3
"""Of the time, about; for progress only."""


def top_k_problem(
    problem: Problem,
    k: int,
    *,
    mask: BoolArray | None = None,
    budget: int | None = None,
    memory: int = relaxed.MEMORY,
) -> Neighbors:
    """The k rows of y nearest to each row of x by a transport distance.

    With ``budget``, at most that many problems are solved for a query; ``proved`` then says which places are those
    of the full answer. Places beyond the solved ones are empty (-1, inf).
    """
    allowed = np.ones(problem.shape[1], bool) if mask is None else np.ascontiguousarray(mask)
    limit = -1 if budget is None else _checked_budget(budget)
    k_used = min(k, int(allowed.sum()))
    rows = np.full((problem.shape[0], k), -1, np.int64)
    values = np.full((problem.shape[0], k), np.inf, np.float32)
    proved = np.ones((problem.shape[0], k), bool)
    counts = np.zeros(4, np.int64)
    quiet = replace(problem, progress=None, symmetric=False)
    at_once = max(1, memory // 2 // (8 * max(1, problem.shape[1])))  # two bounds a pair; the other half is to work in
    report = Report(problem.progress, problem.shape[0])
    for start in range(0, problem.shape[0] if k_used else 0, at_once):
        stop = min(start + at_once, problem.shape[0])
        rows_here = report.part(start / problem.shape[0], stop / problem.shape[0])
        some = relaxed.part(quiet, slice(start, stop), slice(0, problem.shape[1]))
        bounds = lower_bounds(replace(some, progress=rows_here.part(0, _SHARE_OF_BOUNDS)), memory // 2)
        told = rows_here.part(_SHARE_OF_BOUNDS, 1)
        for block in blocks(quiet, start, stop):
            here = slice(block.start, block.stop)
            near = bounds[block.start - start : block.stop - start]
            found = block.documents.search(near, allowed, _slack(problem), k_used, limit, problem.threads)
            raise_unsolved(problem, block, found[4])
            rows[here, :k_used], values[here, :k_used], proved[here, :k_used] = found[:3]
            counts += found[3].sum(axis=0)
            told(block.stop - start, stop - start)
    pairs = problem.shape[0] * int(allowed.sum())
    names = ("solved", "dual", "candidates", "unsolved")
    tally = {"pairs": pairs, **{name: int(count) for name, count in zip(names, counts, strict=True)}}
    return Neighbors(rows, values, tally["solved"], tally, None if budget is None else proved)


def lower_bounds(problem: Problem, memory: int) -> Float32Array:
    """A lower bound on every value of a transport problem, by the relaxed kernels."""
    if problem.graph is not None:
        overlap = "keep" if problem.overlap == "keep" else "omr"
        return _values(problem, "rel-rwmd", overlap, memory)
    bounds = _values(problem, "rwmd", "omr", memory)
    np.maximum(bounds, _values(replace(problem, progress=None), "wcd", "keep", memory), out=bounds)
    if not np.isfinite(bounds).all():  # a bound that overflowed says nothing; that of an empty document is right
        filled = np.logical_and.outer(np.diff(problem.x.indptr) > 0, np.diff(problem.y.indptr) > 0)
        bounds[filled & ~np.isfinite(bounds)] = 0
    return bounds


def _values(problem: Problem, distance: str, overlap: str, memory: int) -> Float32Array:
    part = replace(problem, distance=DISTANCES[distance], overlap=overlap)
    with np.errstate(over="ignore", invalid="ignore"):
        return relaxed.fill(part, np.empty(problem.shape, np.float32), memory=memory)


def _slack(problem: Problem) -> float:
    if problem.graph is not None:
        return _SLACK * problem.c_max
    assert problem.vectors is not None
    squares = np.einsum("ij,ij->i", problem.vectors, problem.vectors, dtype=np.float64)
    return _SLACK * 2 * float(np.sqrt(squares.max(initial=0.0)))


def _checked_budget(budget: int) -> int:
    if isinstance(budget, bool) or not hasattr(budget, "__index__") or int(budget) < 0:
        raise InputError(f"budget must be a whole number of problems to solve for a query, got {budget!r}.")
    return int(budget)
