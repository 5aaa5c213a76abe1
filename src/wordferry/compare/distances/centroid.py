"""The word centroid distance: the distance of the mean vectors of two documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Report, blas_threads
from wordferry.compare.moves import Taken, bag_of, by_word
from wordferry.compare.problem import Distance, Method, Problem
from wordferry.kernels import passes, reference

_FLOP = 0.03  # nanoseconds: one multiply-add of a matrix product
_NEAR = 1e-9  # below this share of the squared lengths, a squared distance is computed from the difference


class Products(Method):
    """Squared distances from one product of the centroids, in float64 because centroids lie close together."""

    name = "products"
    title = "one matrix product of centroids"

    def cost(self, problem: Problem) -> float:
        assert problem.frame.embeddings is not None
        return problem.shape[0] * problem.shape[1] * _FLOP * problem.frame.embeddings.dimensions

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        a, a_squares = problem.x.centroids(problem.frame)
        b, b_squares = problem.y.centroids(problem.frame)
        step = max(16, (8 << 20) // (8 * max(problem.shape[1], 1)))
        with blas_threads(problem.threads):
            for i in range(0, problem.shape[0], step):
                rows = slice(i, min(i + step, problem.shape[0]))
                both = a_squares[rows, None] + b_squares
                squared = both - 2 * (a[rows] @ b.T)
                near = np.nonzero(squared < _NEAR * both)
                for some in np.array_split(np.arange(len(near[0])), len(near[0]) // 4096 + 1):
                    p, q = near[0][some], near[1][some]
                    squared[p, q] = ((a[i + p] - b[q]) ** 2).sum(axis=1)
                out[rows] = np.sqrt(squared)
                report(rows.stop, problem.shape[0])
        if problem.symmetric:
            passes.make_symmetric(out, problem.threads, from_lower=True)


@dataclass(frozen=True, repr=False)
class CentroidDistance(Distance):
    """Never above wmd, and the cheapest bound on it."""

    name: str = "wcd"
    title: str = "Word centroid distance"
    needs_vectors: bool = True
    methods: tuple[Method, ...] = (Products(),)

    def moves(self, problem: Problem) -> Taken:
        return by_word(reference.wcd_moves(bag_of(problem.x), bag_of(problem.y), problem.frame.vectors))
