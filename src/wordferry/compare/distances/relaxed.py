"""Relaxed Word Mover's Distance: every word moves to the nearest word of the other document, on true distances.

They are computed block-wise over the vocabulary (linear), or document by document (standard). Both come to the same
bits, which depend on the two documents alone: words are summed up in the order of their columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array
from wordferry.base.runtime import Report
from wordferry.compare import on_device
from wordferry.compare.bags import Bags, summable
from wordferry.compare.moves import Taken, relaxed_taken, row_of
from wordferry.compare.problem import Effort, Method, MoverDistance, Problem
from wordferry.kernels import passes

COLUMNS = 128
"""Words whose distances to all others are computed at a time: their rows of minima fill the registers."""
NEAREST_PART = 2
"""A block of words may take this part of the memory of the caller: their nearest distances to all documents and, where
the other term is to come from them, their distances to all words. That term may take as much."""
_ADDED_BYTES = 16 << 20
"""Memory for what words without a vector add to some rows."""
# Nanoseconds on one core of the machine of the benchmarks. Only their ratios matter here.
_PASS = 1.6  # one word against sixteen documents of a panel
_FLOP = 0.03  # one multiply-add of a matrix product
_GATHER = 5.0  # one number of a vector made ready for products
_MINIMUM = 0.17  # one distance compared with the least so far, for many documents
_FOLD = 0.22  # the same for one pair
_PAIR = 60.0  # a pair's fixed cost in the standard algorithm
_TURN = 0.7  # one distance turned round for the other term
_BLOCKS = 1_000_000.0  # what the linear algorithm takes however small a problem is


class Moving:
    """One term of RWMD for all pairs: the words of ``moving`` go to the nearest words of ``target``.

    Distances of all words are computed once, a block of columns at a time; the n x n matrix is never held. The other
    term can be had from the same distances (see :meth:`back`). Words without a vector take no part in the products: as
    targets they are one row of c_max, and what moves of them is a sum of its own (see :func:`move_unknown`).
    """

    def __init__(self, moving: Bags, target: Bags, problem: Problem, both: bool = False) -> None:
        self.moving, self.target, self.nearby = moving.movable, target.movable, target.nearby
        self.omr, self.threads, self.frame = problem.overlap == "omr", problem.run.threads, problem.frame
        self.vectors, self.squares = target.ordered_vectors(self.frame)
        self.moving_vectors, self.moving_squares = moving.ordered_vectors(self.frame)
        self.rows = self.nearby.bags.shape[1]  # one more than there are vectors where some words have none
        self.panels = -(-len(target) // 16)
        # All that fits in the memory of the caller, because every block is a pass over the output.
        room = 64 * self.panels + (4 * self.rows if both else 0)
        columns = problem.run.memory // NEAREST_PART // max(room, 1) // COLUMNS * COLUMNS
        self.columns = int(np.clip(columns, COLUMNS, max(16, -(-len(self.moving.words) // 16) * 16)))
        self.held = self.columns if both else min(COLUMNS, self.columns)

    @property
    def blocks(self) -> int:
        return -(-len(self.moving.words) // self.columns)

    def run(self, out: Float32Array, tick: Any, back: Float32Array | None = None) -> None:
        """Fill ``out[moving, target]``; lower ``back`` where it is given. ``tick(share)`` is told how much is done."""
        if not self.blocks:
            out[...] = 0
        moving, target = self.moving.view, self.nearby.view
        masses_view = passes.view(self.target.over(self.moving.words))
        nearest = passes.aligned(self.panels, self.columns, 16)
        costs = passes.aligned(self.rows, self.held + 16)  # rows a power of two apart would share lines of the cache
        for block in range(self.blocks):
            first = block * self.columns
            width = min(self.columns, -(-(len(self.moving.words) - first) // 16) * 16)
            for start in range(0, width, COLUMNS):
                some = costs[:, start % self.held :][:, : min(COLUMNS, width - start)]
                self._fill(some, first + start)
                passes.document_minima(target, some, nearest, start, self.threads)
            if back is not None and len(self.vectors):
                passes.lower_minima(moving, first, costs[: len(self.vectors), :width], back, self.threads)
            passes.accumulate(moving, masses_view, nearest, first, self.omr, block > 0, out, self.threads)
            tick((block + 1) / self.blocks)

    def back(self, moving: Bags) -> Float32Array:
        """Room for the nearest distances of each word of the target to the documents of ``moving``, in panels: what
        words without a vector are, as long as no others are known."""
        rows = -(-len(self.vectors) // 16) * 16
        nearest = passes.aligned(-(-len(moving) // 16), rows, 16)
        nearest[...] = passes.FAR_AWAY
        if moving.unknown_masses is not None:
            documents = np.flatnonzero(np.diff(moving.unknown_masses.indptr))
            nearest[documents // 16, :, documents % 16] = self.frame.far
        return nearest

    def run_back(self, back: Float32Array, first: int, out: Float32Array) -> None:
        """Fill ``out[target, moving]`` for the target's documents from ``first`` on."""
        masses_view = passes.view(self.moving.over(self.target.words))
        some = passes.view(self.target.bags.rows(first, first + len(out)))
        passes.accumulate(some, masses_view, back, 0, self.omr, False, out, self.threads)

    def _fill(self, costs: Float32Array, start: int) -> None:
        """Distances of all target words (rows) to a few moving words from ``start`` on (columns)."""
        words = self.moving.words[start : start + costs.shape[1]]
        few, known = slice(start, start + len(words)), len(self.vectors)
        some = costs[:known, : len(words)]
        vectors, squares = self.moving_vectors[few], self.moving_squares[few]
        passes.word_distances(self.vectors, self.squares, vectors, squares, some, self.threads)
        self.frame.price(some)
        costs[known:] = self.frame.far
        same = self.target.number_of(words)
        costs[same[same >= 0], np.flatnonzero(same >= 0)] = passes.FAR_AWAY if self.omr else 0.0


def move_unknown(x: Bags, y: Bags, problem: Problem, out: Float32Array) -> None:
    """Add to ``out[x, y]`` what x's words without a vector cost: c_max for what exceeds y's mass of the word."""
    if x.unknown_view is None:
        return
    frame, threads, kind = problem.frame, problem.run.threads, problem.overlap
    size = len(frame.words)
    graph, target = passes.empty_graph(size), (y.view if y.unknown_view is None else y.unknown_view).widened(size)
    step = max(16, _ADDED_BYTES // (4 * max(len(y), 1)))
    for start in range(0, len(x), step):
        some = x.slice(start, min(start + step, len(x)))
        moving = some.unknown_view
        if moving is not None:
            added = np.empty((len(some), len(y)), dtype=np.float32)
            passes.panel_sums(target, moving.widened(size), graph, 1.0, passes.PanelKind[kind], added, threads=threads)
            added *= np.float32(frame.far)
            out[start : start + len(some)] += added


def linear(x: Bags, y: Bags, problem: Problem, out: Float32Array, tick: Any) -> None:
    """The one-sided values ``out[x, y]`` of x's words moving to y's."""
    Moving(x, y, problem).run(out, tick)
    move_unknown(x, y, problem, out)


def linear_both(x: Bags, y: Bags, problem: Problem, out: Float32Array, tick: Any) -> None:
    """The larger one of both one-sided values, from distances that are computed once."""
    moving = Moving(x, y, problem, both=True)
    back = moving.back(x)
    moving.run(out, tick, back)
    move_unknown(x, y, problem, out)
    step = max(16, problem.run.memory // NEAREST_PART // (4 * max(len(x), 1)))
    for start in range(0, len(y), step):
        some = y.slice(start, min(start + step, len(y)))
        right = np.empty((len(some), len(x)), dtype=np.float32)
        moving.run_back(back, start, right)
        move_unknown(some, x, problem, right)
        passes.transposed_max(out[:, start : start + len(some)], right, problem.run.threads)


class Blocks(Method):
    """Equation (5) from distances of the whole vocabulary; the second term needs room of its own."""

    name = "blocks"
    title = "distances of the whole vocabulary by blocks, minima over documents, sums"
    algorithm = "linear"

    def applies(self, problem: Problem) -> bool:
        return problem.overlap != "residual"

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        embeddings: Any = problem.frame.embeddings
        d = embeddings.matrix.shape[1]
        n_x, n_y = len(problem.x.words), len(problem.y.words)
        sides = 1 if problem.symmetric or problem.side != "both" else 2
        sums = (problem.y.masses.nnz * rows + problem.x.masses.nnz * columns) / 16 * _PASS
        minima = (problem.x.masses.nnz * n_y + problem.y.masses.nnz * n_x) * _MINIMUM
        products = n_x * n_y * (d * _FLOP + (sides - 1) * _TURN)
        return float(_BLOCKS + products + sides * (minima + sums) / 2 + (n_x + n_y) * d * _GATHER)

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        x, y, threads = problem.x, problem.y, problem.run.threads
        if problem.symmetric or problem.side == "left":
            linear(x, y, problem, out, report)
            if problem.symmetric and problem.side == "right":
                out[...] = out.T.copy()
            elif problem.symmetric and problem.side == "both":
                passes.make_symmetric(out, threads)
            return
        memory = problem.run.memory // NEAREST_PART
        if problem.side == "both":
            most = memory // (64 * max(len(y.words), 1)) * 16
            parts = list(problem.tiles(max(16, most), max(256, memory // (8 * COLUMNS))))
        else:
            parts = list(problem.tiles(len(x), max(256, memory // (4 * max(len(x), 1)))))
        for number, (rows, columns) in enumerate(parts):
            tick = report.part(number / len(parts), (number + 1) / len(parts))
            some_x, some_y = x.slice(rows.start, rows.stop), y.slice(columns.start, columns.stop)
            if problem.side == "both":
                linear_both(some_x, some_y, problem, out[rows, columns], tick)
            else:
                right = np.empty((len(some_y), len(some_x)), dtype=np.float32)
                linear(some_y, some_x, problem, right, tick)
                out[:, columns] = right.T


class QueryRows(Method):
    """One document of x at a time: one product of its words with all words of y, then pair by pair.

    Words without a vector take no part in the products.
    """

    name = "rows"
    title = "one matrix product a document, then pair by pair"
    algorithm = "standard"
    few_first = True

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        few = problem.x.masses.nnz if rows <= columns else problem.y.masses.nnz
        other = len(problem.y.words if rows <= columns else problem.x.words)
        words = (problem.x.masses.nnz / max(rows, 1) + problem.y.masses.nnz / max(columns, 1)) / 2
        embeddings: Any = problem.frame.embeddings
        products = other * embeddings.matrix.shape[1] * (few * _FLOP + _GATHER)
        return float(products + rows * columns * (_PAIR + words * words * _FOLD))

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        x, threads, frame = problem.x.masses, problem.run.threads, problem.frame
        other = problem.y.ordered
        y_vectors, y_squares = problem.y.ordered_vectors(frame)
        for i in range(x.shape[0]):
            words, mass = x.row(i)
            known = len(words)
            if frame.unknown is not None:  # words without a vector, which come last, are rounded
                known -= int(np.count_nonzero(frame.unknown[words]))
                mass = np.concatenate([mass[:known], summable(mass[known:])])
            width = max(16, -(-known // 16) * 16)
            costs = passes.aligned(max(len(y_vectors), 1), width)
            few = frame.vectors_of(words[:known])
            passes.word_distances(
                y_vectors, y_squares, few, passes.squares(few), costs[: len(y_vectors), :known], threads
            )
            frame.price(costs[: len(y_vectors), :known])
            costs[:, known:] = passes.FAR_AWAY
            own = other.number_of(words)
            same = np.flatnonzero(own[:known] >= 0)
            costs[own[same], same] = 0.0 if problem.overlap == "keep" else passes.FAR_AWAY
            local = np.arange(len(words), dtype=np.int32)
            row = Csr(np.array([0, len(words)], dtype=np.int64), local, mass, (1, len(words)))
            far, place = float(passes.FAR_AWAY) if frame.unknown is None else frame.far, out[i : i + 1]
            how = passes.Overlap[problem.overlap], passes.Side[problem.side]
            both, sizes = (passes.view(row), other.view), (known, len(y_vectors))
            passes.dense_pairs(*both, costs, own, *sizes, far, *how, place, threads)
            report((i + 1) / x.shape[0])


class CudaBlocks(on_device.BlockMethod, Blocks):
    """Blocks on a GPU."""

    name = "cuda blocks"
    title = "distances of the whole vocabulary by blocks on a GPU, minima over documents, sums"

    def applies(self, problem: Problem) -> bool:
        return super().applies(problem) and not problem.frame.squared

    def device_pass(self, problem: Problem) -> on_device.DeviceBlocks:
        return on_device.vector_pass(problem)


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
