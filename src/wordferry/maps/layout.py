"""Where documents stand on a map: a layout in which near documents of the exact neighbour graph are drawn near."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import ShowProgress, no_progress, optional_import, progress_for

_EARLY, _LATE = 100, 250
"""Steps of the layout: first with groups pulled tight so that they can pass each other, then in detail. More of either
keep no more neighbours together (.26 of 15 on 10,000 documents of 20news, with 250 and 500 as well)."""
_TIGHT, _LOOSE = 12.0, 1.5
_TOLD = 25
_BY_HAND = 4
_MANY = 5000
"""Below this many documents a second thread costs more than it brings."""


def coordinates(near: Neighbors, *, seed: int = 0, threads: int = 1, progress: ShowProgress = None) -> Float32Array:
    """One (x, y) per document, in -1 .. 1, from the nearest other documents of each (t-SNE from a spectral start).

    The same neighbours, seed and number of threads give the same map.
    """
    count = len(near)
    if count < _BY_HAND:
        places = [[i - (count - 1) / 2, 0.0] for i in range(count)]
        return np.array(places, dtype=np.float32).reshape(count, 2)
    optional_import("openTSNE", "map")
    from openTSNE import TSNEEmbedding, affinity, initialization, nearest_neighbors

    indices, distances = filled(near)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        index = nearest_neighbors.PrecomputedNeighbors(indices, distances)
        weights = affinity.Uniform(knn_index=index, k_neighbors=indices.shape[1], symmetrize="mean")
        start = initialization.spectral(weights.P, random_state=seed)
        drawn = TSNEEmbedding(start, weights, n_jobs=threads if count >= _MANY else 1, random_state=seed)
    tell = progress_for(progress, "placing documents") or no_progress
    done = 0

    def told(iteration: int, error: float, embedding: Any) -> None:
        tell(min(done + iteration, _EARLY + _LATE), _EARLY + _LATE)

    options = {"inplace": True, "callbacks": told, "callbacks_every_iters": _TOLD}
    drawn.optimize(_EARLY, exaggeration=_TIGHT, momentum=0.5, **options)
    done = _EARLY
    drawn.optimize(_LATE, exaggeration=_LOOSE, momentum=0.8, **options)
    tell(_EARLY + _LATE, _EARLY + _LATE)
    return _fitted(np.asarray(drawn, dtype=np.float64))


def filled(near: Neighbors) -> tuple[Int64Array, Float32Array]:
    """Neighbours without gaps: a place without a document repeats the nearest one."""
    missing = near.indices < 0
    indices = np.where(missing, near.indices[:, :1], near.indices)
    distances = np.where(missing, near.distances[:, :1], near.distances)
    return indices, np.where(np.isfinite(distances), distances, np.float32(2.0)).astype(np.float32)


def _fitted(points: Any) -> Float32Array:
    """Centred, and scaled so that all but the farthest stragglers lie within the unit square."""
    centred = points - np.median(points, axis=0)
    radius = float(np.quantile(np.abs(centred).max(axis=1), 0.995)) or 1.0
    result: Float32Array = np.clip(centred / radius, -1.15, 1.15).astype(np.float32)
    return result
