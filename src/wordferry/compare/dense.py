"""RWMD from distances of many words: block-wise over the vocabulary (linear), or document by document (standard).

Both come to the same bits, which depend on the two documents alone: words are summed up in the order of their columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array
from wordferry.compare.bags import Bags
from wordferry.compare.masses import summable
from wordferry.compare.problem import Problem
from wordferry.kernels import passes

COLUMNS = 128
"""Words whose distances to all others are held at a time: their rows of minima fill the registers."""
NEAREST_PART = 2
"""The nearest distances of a block of words to all documents may take this part of the memory of the caller."""
_ADDED_BYTES = 16 << 20
"""Memory for what words without a vector add to some rows."""


class Moving:
    """One term of RWMD for all pairs: the words of ``moving`` go to the nearest words of ``target``.

    Distances of all words are computed once, a block of columns at a time; the n x n matrix is never held. Words
    without a vector take no part in the products: as targets they are one row of c_max, and what moves of them is a
    sum of its own (see :func:`linear`).
    """

    def __init__(self, moving: Bags, target: Bags, problem: Problem) -> None:
        self.moving, self.target, self.nearby = moving.movable, target.movable, target.nearby
        self.omr, self.threads, self.frame = problem.overlap == "omr", problem.threads, problem.frame
        self.vectors, self.squares = target.ordered_vectors(self.frame)
        self.moving_vectors, self.moving_squares = moving.ordered_vectors(self.frame)
        self.rows = self.nearby.bags.shape[1]  # one more than there are vectors where some words have none
        self.panels = -(-len(target) // 16)
        # All that fits in the memory of the caller, because every block is a pass over the output.
        columns = problem.run.memory // NEAREST_PART // (64 * max(self.panels, 1)) // COLUMNS * COLUMNS
        self.columns = int(np.clip(columns, COLUMNS, max(16, -(-len(self.moving.words) // 16) * 16)))

    @property
    def blocks(self) -> int:
        return -(-len(self.moving.words) // self.columns)

    def run(self, out: Float32Array, tick: Any) -> None:
        """Fill ``out[moving, target]``; ``tick(share)`` is told how much is done."""
        if not self.blocks:
            out[...] = 0
        moving, target = self.moving.view, self.nearby.view
        masses_view = passes.view(self.target.over(self.moving.words))
        nearest = passes.aligned(self.panels, self.columns, 16)
        buffer = passes.aligned(self.rows * min(COLUMNS, self.columns))
        for block in range(self.blocks):
            first = block * self.columns
            for start in range(first, min(first + self.columns, len(self.moving.words)), COLUMNS):
                costs = self._costs(start, buffer)
                passes.document_minima(target, costs, nearest, start - first, self.threads)
            passes.accumulate(
                moving,
                masses_view,
                nearest,
                first,
                out,
                omr=self.omr,
                add=block > 0,
                threads=self.threads,
            )
            tick((block + 1) / self.blocks)

    def _costs(self, start: int, buffer: Float32Array) -> Float32Array:
        """Distances of all target words (rows) to a few moving words (columns)."""
        stop = min(start + COLUMNS, len(self.moving.words))
        words = self.moving.words[start:stop]
        width = -(-len(words) // 16) * 16
        costs = buffer[: self.rows * width].reshape(self.rows, width)
        few, squares, known = self.moving_vectors[start:stop], self.moving_squares[start:stop], len(self.vectors)
        passes.word_distances(self.vectors, self.squares, few, squares, costs[:known, : len(few)], self.threads)
        self.frame.price(costs[:known, : len(few)])
        if self.rows > len(self.vectors):
            costs[-1] = self.frame.far
        same = self.target.number_of(words)
        costs[same[same >= 0], np.flatnonzero(same >= 0)] = passes.FAR_AWAY if self.omr else 0.0
        return costs


def linear(x: Bags, y: Bags, problem: Problem, out: Float32Array, tick: Any) -> None:
    """The one-sided values ``out[x, y]`` of x's words moving to y's."""
    Moving(x, y, problem).run(out, tick)
    if x.unknown_view is None:
        return
    # A word without a vector pays c_max for what exceeds the other document's mass of it.
    frame, threads, kind = problem.frame, problem.threads, problem.overlap
    size = len(frame.words)
    graph, target = passes.empty_graph(size), (y.view if y.unknown_view is None else y.unknown_view).widened(size)
    step = max(16, _ADDED_BYTES // (4 * max(len(y), 1)))
    for start in range(0, len(x), step):
        some = x.slice(start, min(start + step, len(x)))
        moving = some.unknown_view
        if moving is not None:
            added = np.empty((len(some), len(y)), dtype=np.float32)
            passes.panel_sums(target, moving.widened(size), graph, 1.0, kind, added, threads=threads)
            added *= np.float32(frame.far)
            out[start : start + len(some)] += added


def standard(problem: Problem, out: Float32Array, tick: Any) -> None:
    """RWMD document by document of x: one product of its words with all words of y, then pair by pair.

    Words without a vector take no part in the products.
    """
    x, threads, frame = problem.x.masses, problem.threads, problem.frame
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
        passes.word_distances(y_vectors, y_squares, few, passes.squares(few), costs[: len(y_vectors), :known], threads)
        frame.price(costs[: len(y_vectors), :known])
        costs[:, known:] = passes.FAR_AWAY
        own = other.number_of(words)
        same = np.flatnonzero(own[:known] >= 0)
        costs[own[same], same] = 0.0 if problem.overlap == "keep" else passes.FAR_AWAY
        local = np.arange(len(words), dtype=np.int32)
        row = Csr(np.array([0, len(words)], dtype=np.int64), local, mass, (1, len(words)))
        both, far = (known, len(y_vectors)), float(passes.FAR_AWAY) if frame.unknown is None else frame.far
        place = out[i : i + 1]
        passes.dense_pairs(
            passes.view(row), other.view, costs, own, both, far, problem.overlap, problem.side, place, threads
        )
        tick((i + 1) / x.shape[0])
