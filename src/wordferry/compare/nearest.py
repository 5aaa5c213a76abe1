"""Nearest documents, and documents within a radius, reduced block by block: no matrix of all distances is held."""

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
from wordferry.compare import cascade
from wordferry.compare.plan import MethodPlan, fill, find_method, make_plan
from wordferry.compare.problem import Problem
from wordferry.errors import InputError
from wordferry.kernels.passes import Heaps


def check_k(k: Any) -> int:
    """A whole number of at least 1."""
    return whole_number(k, "k")


_ROUNDING = 1e-4
"""How far a bound in float32 may lie above the value it bounds, relative to a radius or to 1."""


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
    result: BoolArray = allowed if problem.y.in_order else allowed[problem.y.rows]
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
    plan = make_plan(problem, algorithm)
    if problem.distance.transport:
        found = cascade.top_k_problem(problem, k, mask=mask, budget=budget)
    elif budget is not None:
        raise InputError(f"budget= counts solved transport problems; {problem.distance.name} has none. Leave it out.")
    else:
        found = _nearest_values(problem, k, mask, plan)
    if len(problem.y) and not problem.y.in_order:
        found = replace(found, indices=np.where(found.indices >= 0, problem.y.rows[found.indices], -1))
    return found.resized(columns)


def _nearest_on_device(problem: Problem, k: int, mask: BoolArray | None, plan: MethodPlan) -> Neighbors:
    """Lists reduced by a method's own search; rows in which rounding could have decided are searched on the CPU."""
    on_cpu = problem.running(device="cpu")
    found = find_method(problem, plan.method).nearest(problem, k, mask)
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
    if find_method(problem, plan.method).device:
        return _nearest_on_device(problem, k, mask, plan)
    heaps = Heaps(problem.shape[0], k)
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
        heaps.offer(some, block, others.start, None if mask is None else mask[others], problem.threads)
    found = heaps.finish(problem.threads)
    report(1.0)
    pairs = problem.shape[0] * (problem.shape[1] if mask is None else int(mask.sum()))
    return replace(found, counts={"pairs": pairs})


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
    rows, columns = _tile_shape(problem, problem.run.memory // 2)
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    blocks = list(problem.tiles(rows, columns))
    half = max(problem.run.memory // 2, LEAST_MEMORY)
    for number, (some, others) in enumerate(blocks):
        tick = report.part(number / len(blocks), (number + 1) / len(blocks))
        part = problem.part(some, others).running(memory=half, progress=tick)
        if rising and others.stop <= some.start:
            continue
        values = cascade.lower_bounds(part) if bounded else fill(part, np.empty(part.shape, dtype=np.float32))
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


def _tile_shape(problem: Problem, memory: int) -> tuple[int, int]:
    """Rows and columns of a block: as square as the documents allow, because both sides pay for each block."""
    area = max(memory // 4, 4096)
    rows = min(problem.shape[0], max(1, math.isqrt(area)))
    columns = min(problem.shape[1], max(1, area // max(rows, 1)))
    rows = min(problem.shape[0], max(1, area // max(columns, 1)))
    return max(rows, 1), max(columns, 1)
