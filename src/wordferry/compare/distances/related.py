"""Relaxed Word Mover's Distance on related words: few costs are known, all others are c_max."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array
from wordferry.base.runtime import Report
from wordferry.compare import on_device
from wordferry.compare.moves import Taken, least_moves, relaxed_taken, row_of
from wordferry.compare.problem import Effort, Method, MoverDistance, Problem
from wordferry.kernels import passes

# Nanoseconds on one core of the machine of the benchmarks. Only their ratios matter here.
_PASS = 1.6  # one word against sixteen documents of a panel
_LINK = 2.0  # one related word entered into a panel
_EDGE = 1.5  # one edge of the graph made ready for panels
_SCAN = 8.0  # one word of the collection against one query
_WALK = 2.3  # one related word looked up in the other document
_PAIR = 60.0  # a pair's fixed cost in the standard algorithm


def _edges(problem: Problem) -> tuple[int, float]:
    """Edges of the graph, and how many a word has."""
    graph = problem.frame.graph
    return (0, 0.0) if graph is None else (graph.nnz, graph.nnz / max(graph.shape[0], 1))


def _views(problem: Problem) -> tuple[passes.View, passes.View]:
    return passes.aligned_views(problem.x.view, problem.y.view, len(problem.frame.words))


class Panels(Method):
    """Equation (12): both terms by panels; of X with itself, one term is the other transposed."""

    name = "panels"
    title = "sixteen documents at a time against all others"
    algorithm = "linear"

    def applies(self, problem: Problem) -> bool:
        return problem.overlap != "residual"

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        edges, degree = _edges(problem)
        sides = 1 if problem.symmetric or problem.side != "both" else 2
        sums = problem.y.masses.nnz * np.ceil(rows / 16) + problem.x.masses.nnz * np.ceil(columns / 16)
        entered = (problem.x.masses.nnz + problem.y.masses.nnz) * degree
        return float((sums * _PASS + entered * _LINK) * sides / 2 + sides * edges * _EDGE)

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        graph, c_max, threads = problem.frame.view, problem.frame.c_max, problem.run.threads
        kind = passes.PanelKind[problem.overlap]
        x, y = _views(problem)
        if problem.symmetric:
            right = problem.side == "right"
            passes.panel_sums(x, x, graph, c_max, kind, out, transposed=right, threads=threads, progress=report)
            if problem.side == "both":
                passes.make_symmetric(out, threads)
            return
        both = problem.side == "both"
        first, second = (report.part(0.0, 0.5), report.part(0.5, 1.0)) if both else (report, report)
        if problem.side != "right":
            passes.panel_sums(y, x, graph, c_max, kind, out, threads=threads, progress=first)
        if problem.side != "left":
            passes.panel_sums(
                x, y, graph, c_max, kind, out, transposed=True, combine=both, threads=threads, progress=second
            )


class RelatedLists(Method):
    """Pair by pair."""

    name = "lists"
    title = "pair by pair through the lists of related words"
    algorithm = "standard"
    few_first = True

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        words = problem.x.masses.nnz / max(rows, 1) + problem.y.masses.nnz / max(columns, 1)
        return rows * columns * (_PAIR + words / 2 * _edges(problem)[1] * _WALK)

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        frame, overlap, side = problem.frame, passes.Overlap[problem.overlap], passes.Side[problem.side]
        threads = problem.run.threads
        passes.related_pairs(*_views(problem), frame.view, frame.c_max, overlap, side, out, threads, report)


class Scan(RelatedLists):
    """A table of the nearest words for each query, then one pass over the collection."""

    name = "scan"
    title = "one pass over the collection for each query"
    algorithm = "linear"

    def applies(self, problem: Problem) -> bool:
        return problem.overlap != "residual"

    def cost(self, problem: Problem) -> float:
        return min(problem.shape) * max(problem.x.masses.nnz, problem.y.masses.nnz) * _SCAN


class CudaPanels(on_device.BlockMethod, Panels):
    """Panels of sixty-four documents on a GPU."""

    name = "cuda panels"
    title = "sixty-four documents at a time against all others, on a GPU"

    def device_pass(self, problem: Problem) -> on_device.DeviceBlocks:
        return on_device.related_pass(problem)


_EFFORT = Effort(0.2)
"""Most documents are ruled out by the lists of an index; four times what was measured with a million of them."""


@dataclass(frozen=True, repr=False)
class RelatedRelaxed(MoverDistance):
    """rwmd with the costs of related words."""

    family: str = "rel-rwmd"
    title: str = "Related relaxed Word Mover's Distance"
    needs_related: bool = True
    overlaps: tuple[str, ...] = ("omr", "keep", "residual")
    sides: tuple[str, ...] = ("both", "left", "right")
    methods: tuple[Method, ...] = (Panels(), Scan(), RelatedLists(), CudaPanels())
    by_lists: bool = True
    effort: Effort = _EFFORT

    def least_moves(self, problem: Problem) -> Float64Array | None:
        return None if problem.overlap == "keep" else least_moves(problem.frame)

    def moves(self, problem: Problem) -> Taken:
        return relaxed_taken(problem.frame, row_of(problem.x), row_of(problem.y), problem.overlap, problem.side)
