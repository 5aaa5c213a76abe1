"""Choosing by cross-validation: folds, the 1 % rule for r, and neighbours that all folds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import Progress, no_progress
from wordferry.errors import InputError

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


class Nearest:
    """The k nearest documents seen so far of each query, ordered by (distance, index)."""

    def __init__(self, queries: int, k: int) -> None:
        self.k = k
        self._keys = np.full((queries, k), _NOBODY, dtype=np.uint64)

    def offer(self, queries: Int64Array, candidates: Int64Array, distances: Float32Array) -> None:
        """Show ``distances[i, j]`` between query ``queries[i]`` and document ``candidates[j]``."""
        known = self._keys[queries]
        if (known[:, -1] == _NOBODY).any():
            keys = _ordered_keys(distances, candidates)
            if keys.shape[1] > self.k:
                keys = np.partition(keys, self.k - 1, axis=1)[:, : self.k]
            both = np.concatenate([known, keys], axis=1)
            both.sort(axis=1)
            self._keys[queries] = both[:, : self.k]
            return
        # Every query has k documents already: only what is not farther than the last of them can matter.
        farthest = _distances_of(known[:, -1])
        rows, columns = np.nonzero(distances <= farthest[:, None])
        keys = _ordered_keys(distances[rows, columns], candidates[columns])
        all_rows = np.concatenate([np.repeat(np.arange(len(queries)), self.k), rows])
        all_keys = np.concatenate([known.ravel(), keys])
        order = np.lexsort((all_keys, all_rows))
        starts = np.searchsorted(all_rows[order], np.arange(len(queries)))
        self._keys[queries] = all_keys[order][starts[:, None] + np.arange(self.k)]

    def result(self) -> Neighbors:
        """What was found; places without a document are -1 and inf."""
        missing = self._keys == _NOBODY
        indices = (self._keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
        distances = _distances_of(self._keys)
        return Neighbors(np.where(missing, -1, indices), np.where(missing, np.float32(np.inf), distances))


_NOBODY = np.uint64(0xFFFFFFFFFFFFFFFF)


def _ordered_keys(distances: Float32Array, candidates: Int64Array) -> Any:
    """One integer a pair that sorts by distance, then by index: the bits of floats >= 0 are ordered as the floats."""
    bits = (np.ascontiguousarray(distances, dtype=np.float32) + np.float32(0)).view(np.uint32)
    return (bits.astype(np.uint64) << np.uint64(32)) | candidates.astype(np.uint64)


def _distances_of(keys: Any) -> Float32Array:
    """The distances that keys were made of."""
    result: Float32Array = (keys >> np.uint64(32)).astype(np.uint32).view(np.float32)
    return result


def fold_neighbours(
    block: PairBlock, fold: Int64Array, k: int, *, rows: int = 2048, progress: Progress | None = None
) -> Neighbors:
    """The k nearest documents of each document among those of the *other* folds.

    Each pair of documents from two folds is computed once, for both; pairs within a fold are never computed. Work goes
    in blocks of at most ``rows`` x ``rows`` pairs, so nothing of the size of all pairs is held.
    """
    nearest = Nearest(len(fold), k)
    members = [np.flatnonzero(fold == number) for number in range(int(fold.max()) + 1)]
    jobs = [
        (a, b)
        for first, mine in enumerate(members)
        for other in members[first + 1 :]
        for a in _pieces(mine, rows)
        for b in _pieces(other, rows)
    ]
    tell = progress or no_progress
    for done, (a, b) in enumerate(jobs):
        distances = block(a, b)
        nearest.offer(a, b, distances)
        nearest.offer(b, a, distances.T)
        tell(done + 1, len(jobs))
    return nearest.result()


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
