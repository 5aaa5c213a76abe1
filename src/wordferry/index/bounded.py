"""Bounds of all documents from their lists, and documents compared in the order of their bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int64Array
from wordferry.base.cancel import check_cancelled
from wordferry.index.snapshot import Part, damaged_part
from wordferry.kernels import native, passes
from wordferry.kernels import related_lists as lists

STEP = 256
"""Documents that are compared at once at first; then twice as many each time."""


def summed(
    parts: Sequence[Part],
    known: lists.Touched,
    others: lists.Touched | None,
    totals: Callable[[Part], Float32Array],
    rest: float,
    threads: int,
    repeats: Callable[[Part], native.Repeats] = lambda part: native.COUNTS,
) -> tuple[Float32Array, int]:
    """For each document ``rest`` less what the touched words save, and how many entries of lists were visited.

    ``others`` are touched words without vectors, where those count. What is saved is a share of the ``totals``.
    """
    found, visited = [], 0
    for part in parts:
        sizes, counted = totals(part), repeats(part)
        try:
            some, seen = lists.bounds(part.rows.lists, known, sizes, rest, threads, counted)
            if others is not None and len(others.words):
                more, also = lists.bounds(part.rows.other_lists, others, sizes, 0.0, threads, counted)
                some, seen = some + more, seen + also
        except ValueError as error:
            raise damaged_part(part, error) from None
        found.append(some)
        visited += seen
    return np.concatenate(found), visited


def row_means(
    part: Part,
    totals: npt.NDArray[Any],
    known: Float64Array,
    others: Float64Array | None = None,
    repeats: native.Repeats = native.COUNTS,
) -> Float32Array:
    """What the words of each document of a part cost on the average, by the sum of its weights; 0 for one without.

    ``known`` and ``others`` are what words weigh times what they cost, with vectors and, where those count, without.
    """
    sums = np.zeros(len(part.bags))
    try:
        native.add_row_sums((part.bags.indptr, part.bags.words, part.bags.counts), known, sums, repeats=repeats)
        if others is not None:
            native.add_row_sums(part.bags.others, others, sums, repeats=repeats)
    except ValueError as error:
        raise damaged_part(part, error) from None
    found: Float64Array = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)
    return found.astype(np.float32)


def compared_in_order(
    bounds: Float32Array,
    mask: BoolArray | None,
    k: int,
    slack: float,
    compare: Callable[[Int64Array], Float32Array],
) -> lists.Found:
    """The k nearest of the rows that the mask allows: compared in rising order of their bounds, until one is too far.

    ``compare`` gives the distances of some rows, which rise; a bound may be above its distance by the slack.
    """
    heap = passes.Heaps(1, k)
    heap.offer(slice(0, 1), bounds[None, :], 0, mask, 1)
    rows = np.sort(heap.finish(1).indices[0])
    distances, evaluated = compare(rows), len(rows)
    near = bounds <= distances.max(initial=-np.inf) + slack
    near[rows] = False
    if mask is not None:
        near &= mask
    waiting = np.flatnonzero(near)
    waiting = waiting[np.argsort(bounds[waiting], kind="stable")]
    start, step = 0, STEP
    while start < len(waiting):
        check_cancelled()
        limit = distances.max() + slack
        last = start + int(np.searchsorted(bounds[waiting[start : start + step]], limit, side="right"))
        if last == start:
            break
        some = np.sort(waiting[start:last])
        rows, distances = np.concatenate([rows, some]), np.concatenate([distances, compare(some)])
        best = np.lexsort((rows, distances))[:k]
        rows, distances, evaluated = rows[best], distances[best], evaluated + len(some)
        start, step = last, 2 * step
    return lists.Found(rows, distances, 0, evaluated)
