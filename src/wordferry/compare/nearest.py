"""Nearest documents, and documents within a radius, reduced block by block: no matrix of all distances is held.

By a transport distance every row of Y gets a lower bound for each query: the largest of those that the distance names.
Rows are taken in rising order of the bound; a dual ascent tightens it, and only what can still be among the k nearest
is solved. The answer is that of solving everything, ties included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.checks import whole_number
from wordferry.base.runtime import LEAST_MEMORY, Report
from wordferry.compare.distances.transport import cpu_method, solve_pairs, solvers, unsolved
from wordferry.compare.on_device import PairSolver, largest_values
from wordferry.compare.problem import MethodPlan, Problem, check_algorithm, fill, make_plan
from wordferry.device.best import MOST, DeviceBest, allowed_bytes
from wordferry.device.launch import budget, runtime
from wordferry.errors import InputError
from wordferry.kernels.passes import Nearest


def check_k(k: Any) -> int:
    """A whole number of at least 1."""
    return whole_number(k, "k")


_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to a radius or to 1."""
_SLACK = 2e-5
"""What the float32 kernels may add to a bound, relative to the largest cost: twice what their tests allow."""
_BOUNDS_AT_ONCE = 1 << 28
"""Bounds of a round on a GPU, if memory allows: a round ends with its longest problem, so there should be few."""
_BOUND_BYTES = 16
"""Of device memory for each of them, with what they are computed from."""
_LISTED = 256
"""Candidates of a query that are put in order of their bounds at first."""
_SHARE_OF_BOUNDS = 0.3
"""Of the time, about; for progress only."""


def check_mask(mask: Any, problem: Problem) -> BoolArray | None:
    """The mask over the problem's own rows of Y."""
    if mask is None:
        return None
    allowed, documents = np.asarray(mask), problem.y.passed
    if allowed.dtype != bool or allowed.shape != (documents,):
        raise InputError(
            f"mask must be a boolean array with one value for each document of Y ({documents}); "
            f"got {allowed.dtype} of shape {allowed.shape}."
        )
    result: BoolArray = allowed[problem.y.rows]
    return result


def nearest(
    problem: Problem, k: int, mask: BoolArray | None = None, algorithm: str = "auto", budget: int | None = None
) -> Neighbors:
    """The k nearest rows of y to each row of x, numbered as the caller numbers them.

    The result has a column for each place, and no more of them than documents were passed. Documents that were dropped
    or are masked leave the last places empty.
    """
    columns, k = min(k, problem.y.passed), min(k, max(len(problem.y), 1))
    if mask is not None and 2 * np.count_nonzero(mask) < len(mask):
        problem, mask = replace(problem, y=problem.y.take(np.flatnonzero(mask))), None
    if problem.distance.transport:
        if algorithm != "auto":
            check_algorithm(problem, algorithm)
        found = top_k_problem(problem, k, mask=mask, budget=budget)
    elif budget is not None:
        raise InputError(f"budget= counts solved transport problems; {problem.distance.name} has none. Leave it out.")
    else:
        found = _nearest_values(problem, k, mask, make_plan(problem, algorithm))
    return found.renumbered(problem.y.rows).resized(columns)


def _nearest_on_device(problem: Problem, k: int, mask: BoolArray | None, plan: MethodPlan) -> Neighbors:
    """Lists reduced by a method's own search; rows in which rounding could have decided are searched on the CPU."""
    on_cpu = problem.running(device="cpu")
    found = plan.chosen.nearest(problem, k, mask)
    if found is None:
        return _nearest_values(on_cpu, k, mask, make_plan(on_cpu))
    lists, unsure = found
    if len(unsure):
        some = replace(on_cpu.running(progress=None), x=problem.x.take(unsure))
        again = _nearest_values(some, k, mask, make_plan(some))
        lists.indices[unsure], lists.distances[unsure] = again.indices, again.distances
    return replace(lists, counts={**lists.counts, "refined": len(unsure)})


def _nearest_values(problem: Problem, k: int, mask: BoolArray | None, plan: MethodPlan) -> Neighbors:
    """Blocks of distances, each offered to the heaps of its rows and then forgotten."""
    if plan.chosen.device:
        return _nearest_on_device(problem, k, mask, plan)
    heaps = Nearest(problem.shape[0], k)
    half = max(problem.run.memory // 2, LEAST_MEMORY)
    rows, columns = _tile_shape(problem, problem.run.memory // 2)
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    blocks = list(problem.tiles(rows, columns))
    values = np.empty((min(rows, problem.shape[0]), min(columns, problem.shape[1])), dtype=np.float32)
    for number, (some, others) in enumerate(blocks):
        shape = some.stop - some.start, others.stop - others.start
        block = values.ravel()[: shape[0] * shape[1]].reshape(shape)
        tick = report.part(number / len(blocks), (number + 1) / len(blocks))
        fill(problem.part(some, others).running(memory=half, progress=tick), block, plan)
        heaps.offer(some.start, block, others.start, None if mask is None else mask[others], problem.run.threads)
    found = Neighbors(*heaps.finish(problem.run.threads))
    report(1.0)
    pairs = problem.shape[0] * (problem.shape[1] if mask is None else int(mask.sum()))
    return replace(found, counts={"pairs": pairs})


def top_k_problem(problem: Problem, k: int, *, mask: BoolArray | None = None, budget: int | None = None) -> Neighbors:
    """The k rows of y nearest to each row of x by a transport distance.

    With ``budget``, at most that many problems are solved for a query; ``proved`` then says which places are those
    of the full answer. Places beyond the solved ones are empty (-1, inf).
    """
    allowed = np.ones(problem.shape[1], bool) if mask is None else np.ascontiguousarray(mask)
    if budget is None and any(method.device for method in problem.methods):
        return _on_device(problem, k, allowed)
    limit = -1
    if budget is not None:  # no query has more problems than there are documents
        limit = min(whole_number(budget, "budget", 0, of="problems to solve for a query"), problem.shape[1])
    k_used = min(k, int(allowed.sum()))
    rows = np.full((problem.shape[0], k), -1, np.int64)
    values = np.full((problem.shape[0], k), np.inf, np.float32)
    proved = np.ones((problem.shape[0], k), bool)
    counts = np.zeros(4, np.int64)
    method = cpu_method(problem)
    slack = _SLACK * problem.frame.largest_cost
    half = max(problem.run.memory // 2, LEAST_MEMORY)
    at_once = max(1, half // (8 * max(1, problem.shape[1])))  # two bounds per pair; the other half is to work in
    report = Report(problem.run.progress, problem.shape[0])
    for start in range(0, problem.shape[0] if k_used else 0, at_once):
        stop = min(start + at_once, problem.shape[0])
        told = report.part(start / problem.shape[0], stop / problem.shape[0])
        some = problem.part(slice(start, stop), slice(0, problem.shape[1]))
        bounds = lower_bounds(some.running(memory=half, progress=told.part(0, _SHARE_OF_BOUNDS)))
        told = told.part(_SHARE_OF_BOUNDS, 1)
        for block in method.blocks(problem, start, stop):
            here = slice(block.start, block.stop)
            near = bounds[block.start - start : block.stop - start]
            found = block.documents.search(near, allowed, slack, k_used, limit, problem.run.threads)
            if found[4][0] >= 0:
                raise unsolved(problem, block, found[4])
            rows[here, :k_used], values[here, :k_used], proved[here, :k_used] = found[:3]
            counts += found[3].sum(axis=0)
            told(block.stop - start, stop - start)
    pairs = problem.shape[0] * int(allowed.sum())
    names = ("solved", "dual", "candidates", "unsolved")
    tally = {"pairs": pairs, **{name: int(count) for name, count in zip(names, counts, strict=True)}}
    return Neighbors(rows, values, tally["solved"], tally, None if budget is None else proved)


def _on_device(problem: Problem, k: int, allowed: BoolArray) -> Neighbors:
    """The k nearest on a GPU: candidates in order of their bounds, solved in rounds until no other can win."""
    k_used, (rows, columns) = min(k, int(allowed.sum())), problem.shape
    found = Neighbors(np.full((rows, k), -1, np.int64), np.full((rows, k), np.inf, np.float32))
    tally = {"pairs": rows * int(allowed.sum()), "solved": 0, "candidates": 0, "by_cpu": 0}
    report = Report(problem.run.progress, rows)
    for start, stop, solver in solvers(problem) if k_used else ():
        step = max(1, min(_BOUNDS_AT_ONCE, budget(problem.run.memory) // _BOUND_BYTES) // max(columns, 1))
        for low in range(start, stop, step):
            high = min(low + step, stop)
            part = problem.part(slice(low, high), slice(0, columns))
            rounds = Rounds(problem.part(slice(start, stop), slice(0, columns)), solver, low - start, k_used)
            found.indices[low:high, :k_used], found.distances[low:high, :k_used] = rounds.run(
                _device_bounds(part), allowed, _SLACK * problem.frame.largest_cost
            )
            tally["solved"] += rounds.solved
            tally["candidates"] += rounds.candidates
            tally["by_cpu"] += rounds.by_cpu
            report(high, rows)
    return replace(found, solved=tally["solved"], counts=tally)


class Rounds:
    """Queries of a part, from row ``first`` on, whose nearest documents are found by solving what may win."""

    def __init__(self, problem: Problem, solver: PairSolver, first: int, k: int) -> None:
        self.problem, self.solver, self.first, self.k = problem, solver, first, k
        self.solved = self.candidates = self.by_cpu = 0
        self.limits = np.full(problem.shape[0], np.inf, np.float32)
        self.best: tuple[Any, Any] = (np.zeros((0, k), np.int64), np.zeros((0, k), np.float32))

    def run(self, bounds: Any, allowed: BoolArray, slack: float) -> tuple[Any, Any]:
        """Columns and distances of the nearest, given bounds of all pairs on the device, at most ``slack`` too high."""
        rows, columns = bounds.shape
        self.best = np.full((rows, self.k), -1, np.int64), np.full((rows, self.k), np.inf, np.float32)
        lists = DeviceBest(rows, min(max(_LISTED, 2 * self.k), columns, MOST))
        lists.offer(slice(0, rows), slice(0, columns), bounds, allowed_bytes(allowed))
        places, least = lists.read(lists.places)
        ends = sorted({min(end, lists.places) for end in (self.k, _LISTED // 8, lists.places)})
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            near = (places[:, begin:end] >= 0) & (least[:, begin:end] <= self.best[1][:, -1:] + slack)
            i, at = np.nonzero(near)
            self._solve(i, places[i, begin + at], slack)
        limit = self.best[1][:, -1] + np.float32(slack)
        behind = []
        for row in np.flatnonzero((least[:, -1] <= limit) & (places[:, -1] >= 0)).tolist():
            last, values = (least[row, -1], places[row, -1]), runtime().get(bounds[row])
            others = (values > last[0]) | ((values == last[0]) & (np.arange(columns) > last[1]))
            more = np.flatnonzero(others & allowed & (values <= limit[row]))
            more = more[np.argsort(values[more], kind="stable")]
            behind.append((row, more, values[more]))
        for begin in range(0, max((len(more) for _, more, _ in behind), default=0), _LISTED):  # all rows together
            here = slice(begin, begin + _LISTED)
            i = np.repeat([row for row, _, _ in behind], [len(more[here]) for _, more, _ in behind])
            j = np.concatenate([more[here] for _, more, _ in behind])
            near = np.concatenate([values[here] for _, _, values in behind]) <= self.best[1][i, -1] + slack
            self._solve(i[near], j[near], slack)
        return self.best

    def _solve(self, i: Any, j: Any, slack: float) -> None:
        """Solve pairs that may be among the nearest of their rows, and put those there that are."""
        if not len(i):
            return
        farthest = self.best[1][:, -1]
        self.limits[self.first : self.first + len(farthest)] = farthest + np.float32(slack)
        limits = self.limits if (farthest < np.inf).any() else None
        values, by_cpu = solve_pairs(self.problem, self.solver, i + self.first, j, limits)
        self.solved += int((values < np.inf).sum())
        self.candidates, self.by_cpu = self.candidates + len(i), self.by_cpu + by_cpu
        rows = np.unique(i)
        old = np.repeat(rows, self.k), self.best[0][rows].ravel(), self.best[1][rows].ravel()
        every = [np.concatenate(pair) for pair in zip(old, (i, j, values), strict=True)]
        keep = every[1] >= 0
        every = [part[keep] for part in every]
        order = np.lexsort((every[1], every[2], every[0]))
        every = [part[order] for part in every]
        rank = np.arange(len(order)) - np.searchsorted(every[0], every[0])
        first = rank < self.k
        self.best[0][every[0][first], rank[first]] = every[1][first]
        self.best[1][every[0][first], rank[first]] = every[2][first]


def _device_bounds(problem: Problem) -> Any:
    """:func:`lower_bounds` as an array of the device, computed there where that can be."""
    named = problem.distance.bounds(problem.overlap, problem.frame.unknown is not None)
    parts = [problem.by(distance, overlap) for distance, overlap in named]
    empty = len(problem.x.empty) or len(problem.y.empty)
    if empty or not parts or not all(any(method.device for method in part.methods) for part in parts):
        return runtime().put(lower_bounds(problem))
    return largest_values(parts)


def lower_bounds(problem: Problem) -> Float32Array:
    """A lower bound on every value of a transport problem: the largest of those that the distance names."""
    bounds: Float32Array | None = None
    for distance, overlap in problem.distance.bounds(problem.overlap, problem.frame.unknown is not None):
        part = problem.by(distance, overlap)
        if bounds is not None:  # the first tells how far it is; the others are cheap
            part = part.running(progress=None)
        with np.errstate(over="ignore", invalid="ignore"):
            found = fill(part, np.empty(problem.shape, np.float32))
        bounds = found if bounds is None else np.maximum(bounds, found, out=bounds)
    if bounds is None:
        return np.zeros(problem.shape, np.float32)
    if not np.isfinite(bounds).all():  # a bound that overflowed says nothing; that of an empty document is right
        bounds[~np.isfinite(bounds)] = 0
        problem.settle_empty(bounds)
    return bounds


def loosened(radius: float) -> float:
    """A radius that no bound of a value below the true one can fail through rounding."""
    return radius + _ROUNDING * max(1.0, abs(radius))


def within(
    problem: Problem, radius: float, *, rising: bool = False
) -> Iterator[tuple[Int64Array, Int64Array, Float32Array]]:
    """All pairs of rows at a distance of at most the radius: rows of x, rows of y and distances, block by block.

    A distance that has lower bounds is computed only where they leave a chance. ``rising`` gives only the pairs whose
    row of x is before that of y, where documents are compared with each other.
    """
    limit = np.float32(radius)
    bounded = bool(problem.distance.bounds(problem.overlap, problem.frame.unknown is not None))
    rows, columns = _tile_shape(problem, problem.run.memory // 2, 2 if rising else 1)
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    blocks = list(problem.tiles(rows, columns))
    if rising:  # what is left of the diagonal is not computed
        blocks = [(some, slice(max(some.start, one.start), one.stop)) for some, one in blocks if one.stop > some.start]
    half = max(problem.run.memory // 2, LEAST_MEMORY)
    for number, (some, others) in enumerate(blocks):
        tick = report.part(number / len(blocks), (number + 1) / len(blocks))
        part = problem.part(some, others).running(memory=half, progress=tick)
        values = lower_bounds(part) if bounded else fill(part, np.empty(part.shape, dtype=np.float32))
        chosen = values <= (np.float32(loosened(radius)) if bounded else limit)
        i, j = np.nonzero(np.triu(chosen, some.start - others.start + 1) if rising else chosen)
        near = chosen_values(part, i, j) if bounded else values[i, j]
        i, j, near = i[near <= limit], j[near <= limit], near[near <= limit]
        yield problem.x.rows[i + some.start], problem.y.rows[j + others.start], near


def chosen_values(problem: Problem, i: Int64Array, j: Int64Array) -> Float32Array:
    """Distances of the pairs (i, j), given with i ascending; each row has a problem of its own."""
    out, quiet = np.empty(len(i), dtype=np.float32), problem.running(progress=None)
    rows, starts = np.unique(i, return_index=True)
    for row, (low, high) in zip(rows.tolist(), pairwise([*starts, len(i)]), strict=True):
        one = replace(quiet, x=problem.x.slice(row, row + 1), y=problem.y.take(j[low:high]))
        out[low:high] = fill(one, np.empty(one.shape, dtype=np.float32))[0]
    return out


def _tile_shape(problem: Problem, memory: int, parts: int = 1) -> tuple[int, int]:
    """Rows and columns of a block: as square as the documents allow, because both sides pay for each block.

    The rows make up at least ``parts`` blocks.
    """
    area = max(memory // 4, 4096)
    most = -(-problem.shape[0] // parts)
    rows = min(most, max(1, math.isqrt(area)))
    columns = min(problem.shape[1], max(1, area // max(rows, 1)))
    rows = min(most, max(1, area // max(columns, 1)))
    return max(rows, 1), max(columns, 1)
