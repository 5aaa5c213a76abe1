"""The word centroid distance: the distance of the mean vectors of two documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int64Array, entries_of
from wordferry.base.runtime import Report, products
from wordferry.compare import on_device
from wordferry.compare.bags import Bags
from wordferry.compare.frame import Frame
from wordferry.compare.moves import Taken, by_word
from wordferry.compare.problem import Effort, Method, MoverDistance, Problem
from wordferry.kernels import passes

_FLOP = 0.03  # nanoseconds: one multiply-add of a matrix product
_NEAR = 1e-9  # below this share of the squared lengths, a squared distance is computed from the difference


class _Apart:
    """Words without a vector in wcd: each is a dimension of its own, long enough that two such words are c_max apart.

    What they add to a squared distance is half of c_max squared times the squared difference of their masses; where
    costs are half the squares of distances, c_max times it.
    """

    def __init__(self, x: Bags, y: Bags, frame: Frame) -> None:
        self.weight = frame.far if frame.squared else frame.far**2 / 2
        self.x, self.y = x, y
        self.x_lengths, self.y_lengths = (self.weight * side.unknown_squares for side in (x, y))

    @classmethod
    def of(cls, problem: Problem) -> _Apart | None:
        """None where no document has such a word."""
        x, y = problem.x, problem.y
        found = x.unknown_masses is not None or y.unknown_masses is not None
        return cls(x, y, problem.frame) if found else None

    def product(self, rows: slice) -> Float64Array | None:
        """The products of the masses of such words, for some rows of x; None where all are 0."""
        x, columns = self.x.unknown_masses, self.y.unknown_columns
        if x is None or not columns.nnz:
            return None
        span = slice(x.indptr[rows.start], x.indptr[rows.stop])
        owners = np.repeat(np.arange(rows.stop - rows.start), np.diff(x.indptr[rows.start : rows.stop + 1]))
        inside = x.indices[span] < columns.shape[0]
        owners, words, masses = owners[inside], x.indices[span][inside], x.data[span][inside]
        ends, entries = entries_of(columns.indptr, words)
        lengths = np.diff(ends)
        places = np.repeat(owners * len(self.y), lengths) + columns.indices[entries]
        values = np.repeat(masses, lengths) * columns.data[entries]
        summed = np.bincount(places, weights=values, minlength=(rows.stop - rows.start) * len(self.y))
        result: Float64Array = summed.reshape(-1, len(self.y)).astype(np.float64, copy=False)
        return result

    def exactly(self, p: Int64Array, q: Int64Array) -> Float64Array:
        """What is added to the squared distances of some pairs, from differences."""
        a, b = self.x.unknown_rows(p), self.y.unknown_rows(q)
        width = max(a.shape[1], b.shape[1])
        a.resize(len(p), width)
        b.resize(len(q), width)
        result: Float64Array = self.weight * np.asarray((a - b).power(2).sum(axis=1)).ravel()
        return result


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
        apart = _Apart.of(problem)
        if apart is not None:
            a_squares, b_squares = a_squares + apart.x_lengths, b_squares + apart.y_lengths
        step = max(16, (8 << 20) // (8 * max(problem.shape[1], 1)))
        with products(problem.run.threads) as multiply:
            for i in range(0, problem.shape[0], step):
                rows = slice(i, min(i + step, problem.shape[0]))
                both = a_squares[rows, None] + b_squares
                squared = np.empty_like(both)
                multiply(a[rows], b.T, squared)
                squared = both - 2 * squared
                shared = None if apart is None else apart.product(rows)
                if apart is not None and shared is not None:
                    squared -= 2 * apart.weight * shared
                near = np.nonzero(squared < _NEAR * both)
                for some in np.array_split(np.arange(len(near[0])), len(near[0]) // 4096 + 1):
                    p, q = near[0][some], near[1][some]
                    squared[p, q] = ((a[i + p] - b[q]) ** 2).sum(axis=1)
                    if apart is not None and len(p):
                        squared[p, q] += apart.exactly(i + p, q)
                out[rows] = squared / 2 if problem.frame.squared else np.sqrt(squared)
                report(rows.stop, problem.shape[0])
        if problem.symmetric:
            passes.make_symmetric(out, problem.run.threads, from_lower=True)


class CudaProducts(on_device.BlockMethod, Products):
    """Products on a GPU."""

    name = "cuda products"
    title = "one matrix product of centroids on a GPU"

    def applies(self, problem: Problem) -> bool:
        return _Apart.of(problem) is None and not problem.frame.squared

    def device_pass(self, problem: Problem) -> on_device.DeviceBlocks:
        return on_device.centroid_pass(problem)


_EFFORT = Effort()


@dataclass(frozen=True, repr=False)
class CentroidDistance(MoverDistance):
    """Never above wmd, and the cheapest bound on it. With cosine costs, half the squared distance of the centroids of
    unit vectors, which by convexity is never above wmd with these costs."""

    family: str = "wcd"
    title: str = "Word centroid distance"
    by_centroids: bool = True
    methods: tuple[Method, ...] = (Products(), CudaProducts())
    effort: Effort = _EFFORT

    def moves(self, problem: Problem) -> Taken:
        frame, unknown = problem.frame, problem.frame.unknown
        vectors = frame.vectors.astype(np.float64)
        if unknown is not None:
            length = np.sqrt(frame.far) if frame.squared else frame.far / np.sqrt(2)
            apart = np.diag(np.where(unknown, length, 0.0))[:, unknown]
            vectors = np.concatenate([vectors, apart], axis=1)

        def places(words: Int64Array, x: Float64Array, y: Float64Array) -> tuple[Float64Array, Float64Array]:
            """Each word's excess (below 0 where y has more), and its place on the line between the centroids."""
            difference = (x - y) @ vectors[words]
            length = float(np.linalg.norm(difference))
            direction = difference / 2 if frame.squared else difference / (length or 1.0)
            return x - y, vectors[words] @ direction

        return by_word(problem.x, problem.y, places)
