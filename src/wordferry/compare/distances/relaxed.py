"""Relaxed Word Mover's Distance: every word moves to the nearest word of the other document, on true distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import BoolArray, Float32Array, Int64Array, Neighbors
from wordferry.base.runtime import Report
from wordferry.compare import dense, on_device
from wordferry.compare.moves import Taken, relaxed_taken, row_of
from wordferry.compare.problem import Effort, Method, MoverDistance, Problem
from wordferry.device import vectors
from wordferry.kernels import passes

# Nanoseconds on one core of the machine of the benchmarks. Only their ratios matter here.
_PASS = 1.6  # one word against sixteen documents of a panel
_FLOP = 0.03  # one multiply-add of a matrix product
_GATHER = 5.0  # one number of a vector made ready for products
_MINIMUM = 0.17  # one distance compared with the least so far, for many documents
_FOLD = 0.5  # the same for one pair
_PAIR = 60.0  # a pair's fixed cost in the standard algorithm


def _dimensions(problem: Problem) -> int:
    return 0 if problem.frame.embeddings is None else problem.frame.embeddings.dimensions


class Blocks(Method):
    """Equation (5) from distances of the whole vocabulary; the second term needs room of its own."""

    name = "blocks"
    title = "distances of the whole vocabulary by blocks, minima over documents, sums"
    algorithm = "linear"

    def applies(self, problem: Problem) -> bool:
        return problem.overlap != "residual"

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        d = _dimensions(problem)
        n_x, n_y = len(problem.x.words), len(problem.y.words)
        sides = 1 if problem.symmetric or problem.side != "both" else 2
        sums = (problem.y.nnz * rows + problem.x.nnz * columns) / 16 * _PASS
        minima = (problem.x.nnz * n_y + problem.y.nnz * n_x) * _MINIMUM
        return float(sides * (n_x * n_y * d * _FLOP + (minima + sums) / 2 + (n_x + n_y) * d * _GATHER))

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        x, y, threads = problem.x, problem.y, problem.threads
        if problem.symmetric or problem.side == "left":
            dense.linear(x, y, problem, out, report)
            if problem.symmetric and problem.side == "right":
                out[...] = out.T.copy()
            elif problem.symmetric and problem.side == "both":
                passes.make_symmetric(out, threads)
            return
        columns = max(256, problem.run.memory // 2 // (4 * max(len(x), 1)))
        parts = list(problem.tiles(len(x), columns))
        for number, (_, span) in enumerate(parts):
            tick = report.part(number / len(parts), (number + 1) / len(parts))
            some = y.slice(span.start, span.stop)
            right = np.empty((len(some), len(x)), dtype=np.float32)
            dense.linear(some, x, problem, right, tick.part(0.0, 0.5))
            if problem.side == "right":
                out[:, span] = right.T
                continue
            dense.linear(x, some, problem, out[:, span], tick.part(0.5, 1.0))
            passes.transposed_max(out[:, span], right, threads)


class QueryRows(Method):
    """One document of x at a time."""

    name = "rows"
    title = "one matrix product a document, then pair by pair"
    algorithm = "standard"
    few_first = True

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        few = problem.x.nnz if rows <= columns else problem.y.nnz
        other = len(problem.y.words if rows <= columns else problem.x.words)
        words = (problem.x.nnz / max(rows, 1) + problem.y.nnz / max(columns, 1)) / 2
        products = other * _dimensions(problem) * (few * _FLOP + _GATHER)
        return float(products + rows * columns * (_PAIR + words * words * _FOLD))

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        dense.standard(problem, out, report)


class CudaBlocks(Blocks):
    """Blocks on a GPU."""

    name = "cuda blocks"
    title = "distances of the whole vocabulary by blocks on a GPU, minima over documents, sums"
    device = True

    def applies(self, problem: Problem) -> bool:
        return super().applies(problem) and not problem.frame.squared

    def device_pass(self, problem: Problem) -> on_device.DeviceBlocks:
        return on_device.vector_pass(problem)

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        on_device.fill_values(self.device_pass(problem), problem, out, report)

    def nearest(self, problem: Problem, k: int, mask: BoolArray | None) -> tuple[Neighbors, Int64Array] | None:
        return on_device.Search(problem, k, mask).by(on_device.vector_pass, vectors.refine_vectors)


_EFFORT = Effort(8.0, 2.0)


@dataclass(frozen=True, repr=False)
class Relaxed(MoverDistance):
    """The larger of the two one-sided relaxations of wmd."""

    family: str = "rwmd"
    title: str = "Relaxed Word Mover's Distance"
    overlaps: tuple[str, ...] = ("omr", "keep", "residual")
    sides: tuple[str, ...] = ("both", "left", "right")
    methods: tuple[Method, ...] = (Blocks(), QueryRows(), CudaBlocks())
    costly: bool = True
    effort: Effort = _EFFORT

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_overlaps(*(("omr", "keep") if self.metric else ("keep", "omr")), "residual")

    def moves(self, problem: Problem) -> Taken:
        return relaxed_taken(problem.frame, row_of(problem.x), row_of(problem.y), problem.overlap, problem.side)
