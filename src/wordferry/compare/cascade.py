"""Exact nearest documents for the transport distances: cheap lower bounds first, problems solved only where they win.

Every row of Y gets a lower bound for each query: the largest of those that the distance names. Rows are taken in rising
order of the bound; a dual ascent tightens it, and only what can still be among the k nearest is solved. The answer is
that of solving everything, ties included.
"""

from __future__ import annotations

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Neighbors
from wordferry.base.checks import whole_number
from wordferry.base.runtime import Report
from wordferry.compare.distances.transport import ByPairs, raise_unsolved
from wordferry.compare.plan import fill
from wordferry.compare.problem import Problem

_SLACK = 2e-5
"""What the float32 kernels may add to a bound, relative to the largest cost: twice what their tests allow."""
_SHARE_OF_BOUNDS = 0.3
"""Of the time, about; for progress only."""


def top_k_problem(problem: Problem, k: int, *, mask: BoolArray | None = None, budget: int | None = None) -> Neighbors:
    """The k rows of y nearest to each row of x by a transport distance.

    With ``budget``, at most that many problems are solved for a query; ``proved`` then says which places are those
    of the full answer. Places beyond the solved ones are empty (-1, inf).
    """
    allowed = np.ones(problem.shape[1], bool) if mask is None else np.ascontiguousarray(mask)
    limit = -1
    if budget is not None:  # no query has more problems than there are documents
        limit = min(whole_number(budget, "budget", 0, of="problems to solve for a query"), problem.shape[1])
    k_used = min(k, int(allowed.sum()))
    rows = np.full((problem.shape[0], k), -1, np.int64)
    values = np.full((problem.shape[0], k), np.inf, np.float32)
    proved = np.ones((problem.shape[0], k), bool)
    counts = np.zeros(4, np.int64)
    method, slack = _method(problem), _slack(problem)
    half = problem.run.memory // 2
    at_once = max(1, half // (8 * max(1, problem.shape[1])))  # two bounds per pair; the other half is to work in
    report = Report(problem.run.progress, problem.shape[0])
    for start in range(0, problem.shape[0] if k_used else 0, at_once):
        stop = min(start + at_once, problem.shape[0])
        told = report.part(start / problem.shape[0], stop / problem.shape[0])
        some = problem.part(slice(start, stop), slice(0, problem.shape[1]))
        run = problem.run.within(half).telling(told.part(0, _SHARE_OF_BOUNDS))
        bounds = lower_bounds(some.running(run))
        told = told.part(_SHARE_OF_BOUNDS, 1)
        for block in method.blocks(problem, start, stop):
            here = slice(block.start, block.stop)
            near = bounds[block.start - start : block.stop - start]
            found = block.documents.search(near, allowed, slack, k_used, limit, problem.threads)
            raise_unsolved(problem, block, found[4])
            rows[here, :k_used], values[here, :k_used], proved[here, :k_used] = found[:3]
            counts += found[3].sum(axis=0)
            told(block.stop - start, stop - start)
    pairs = problem.shape[0] * int(allowed.sum())
    names = ("solved", "dual", "candidates", "unsolved")
    tally = {"pairs": pairs, **{name: int(count) for name, count in zip(names, counts, strict=True)}}
    return Neighbors(rows, values, tally["solved"], tally, None if budget is None else proved)


def lower_bounds(problem: Problem) -> Float32Array:
    """A lower bound on every value of a transport problem: the largest of those that the distance names."""
    bounds: Float32Array | None = None
    for distance, overlap in problem.distance.bounds(problem.overlap, problem.frame.unknown is not None):
        part = problem.by(distance, overlap)
        if bounds is not None:  # the first tells how far it is; the others are cheap
            part = part.running(problem.run.telling(None))
        with np.errstate(over="ignore", invalid="ignore"):
            found = fill(part, np.empty(problem.shape, np.float32))
        bounds = found if bounds is None else np.maximum(bounds, found, out=bounds)
    if bounds is None:
        return np.zeros(problem.shape, np.float32)
    if not np.isfinite(bounds).all():  # a bound that overflowed says nothing; that of an empty document is right
        bounds[~np.isfinite(bounds)] = 0
        problem.settle_empty(bounds)
    return bounds


def _method(problem: Problem) -> ByPairs:
    """The method whose blocks can be searched."""
    return next(method for method in problem.distance.methods if isinstance(method, ByPairs))


def _slack(problem: Problem) -> float:
    return _SLACK * (2 * problem.frame.longest if problem.graph is None else problem.frame.c_max)
