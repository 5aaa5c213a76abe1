"""Choosing by cross-validation: folds, the 1 % rule for r, and neighbours that all folds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import Progress, no_progress
from wordferry.errors import InputError
from wordferry.kernels.passes import Nearest

PAPER_R = (1, 2, 4, 8, 16, 32, 64, 128)
PAPER_FOLDS = 5
PAPER_TOLERANCE = 0.01

PairBlock = Callable[[Int64Array, Int64Array], Float32Array]
"""Distances between two lists of documents: ``block(rows, columns) -> (len(rows), len(columns))``."""


def folds(labels: Any, number: int = PAPER_FOLDS, *, seed: int = 0, stratified: bool = False) -> Int64Array:
    """The fold (0 .. number-1) of each document: shuffled, and of sizes that differ by one at most.

    With ``stratified`` each class is dealt over the folds in turn, so that its documents in two folds differ by one at
    most.

    >>> np.bincount(folds(["a"] * 7, 3)).tolist()
    [3, 2, 2]
    """
    names = np.asarray(labels)
    if number < 2 or number > len(names):
        raise InputError(f"The number of folds must lie in 2 .. {len(names)} (the documents), got {number}.")
    order = np.random.default_rng(seed).permutation(len(names))
    if stratified:
        _, classes = np.unique(names, return_inverse=True)
        order = order[np.argsort(classes.ravel()[order], kind="stable")]
    result = np.empty(len(names), dtype=np.int64)
    result[order] = np.arange(len(names)) % number
    return result


def choose_r(errors: Mapping[int, float], tolerance: float = PAPER_TOLERANCE) -> int:
    """The smallest r whose error is at most ``tolerance`` (relative) above the best.

    >>> choose_r({1: 10.2, 2: 10.09, 4: 10.0})
    2
    """
    if not errors:
        raise InputError("choose_r needs the error of at least one r.")
    if tolerance < 0 or not np.isfinite(list(errors.values())).all():
        raise InputError(f"tolerance must be >= 0 and every error finite; got {tolerance} and {dict(errors)}.")
    limit = min(errors.values()) * (1.0 + tolerance)
    return min(r for r, error in errors.items() if error <= limit)


def fold_neighbours(
    block: PairBlock, fold: Int64Array, k: int, *, rows: int = 2048, progress: Progress | None = None
) -> Neighbors:
    """The k nearest documents of each document among those of the *other* folds.

    Each pair of documents from two folds is computed once, for both; pairs within a fold are never computed. Work goes
    in blocks of at most ``rows`` x ``rows`` pairs, so nothing of the size of all pairs is held.
    """
    members = [np.flatnonzero(fold == number) for number in range(int(fold.max()) + 1)]
    jobs = [
        (a, b)
        for first, mine in enumerate(members)
        for other in members[first + 1 :]
        for a in _pieces(mine, rows)
        for b in _pieces(other, rows)
    ]
    tell = progress or no_progress
    indices = np.full((len(fold), k), -1)
    values = np.full((len(fold), k), np.inf, dtype=np.float32)
    for done, (a, b) in enumerate(jobs):
        distances = block(a, b)
        for some, others, near in ((a, b, distances), (b, a, distances.T)):
            known = Neighbors(indices[some], values[some])
            better = Neighbors.merge([known, _nearest(near, k).renumbered(others)], k)
            indices[some], values[some] = better.indices, better.distances
        tell(done + 1, len(jobs))
    return Neighbors(indices, values)


def _nearest(distances: Float32Array, k: int) -> Neighbors:
    """The k nearest columns of each row."""
    heaps = Nearest(len(distances), k)
    heaps.offer(0, np.ascontiguousarray(distances), 0, None, 1)
    return Neighbors(*heaps.finish(1))


def _pieces(members: Int64Array, rows: int) -> list[Int64Array]:
    count = max(1, -(-len(members) // rows))
    return [piece for piece in np.array_split(members, count) if len(piece)]


def validation_mask(documents: int, share: float = 0.2, *, seed: int = 0) -> BoolArray:
    """Which documents are held out to choose k on (shuffled, at least one on each side)."""
    if documents < 2:
        raise InputError(f"Choosing on validation data needs at least 2 training documents, got {documents}.")
    held = min(max(1, round(share * documents)), documents - 1)
    mask = np.zeros(documents, dtype=bool)
    mask[np.random.default_rng(seed).permutation(documents)[:held]] = True
    return mask


def choose_k(errors: Mapping[int, float]) -> int:
    """The smallest k of the lowest error."""
    if not errors:
        raise InputError("choose_k needs the error of at least one k.")
    best = min(errors.values())
    return min(k for k, error in errors.items() if error == best)
