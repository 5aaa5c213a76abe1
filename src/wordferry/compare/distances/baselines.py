"""Distances of bags of words without vectors: cosine and L1, on counts or on tf-idf weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int64Array
from wordferry.base.runtime import Report
from wordferry.compare import on_device
from wordferry.compare.moves import Taken, by_word
from wordferry.compare.problem import Distance, Effort, Method, Problem, Shared
from wordferry.kernels import passes
from wordferry.kernels.lists import COSINE_LOST

_PASS = 1.6  # nanoseconds: one word against sixteen documents of a panel


class _Panels(Method):
    """What the two have in common."""

    name = "panels"
    title = "sixteen documents at a time against all others"

    def cost(self, problem: Problem) -> float:
        rows, columns = problem.shape
        words = problem.x.masses.nnz / max(rows, 1) + problem.y.masses.nnz / max(columns, 1)
        return rows * columns * _PASS * words / 16


class CosinePanels(_Panels):
    """Products of unit rows."""

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        x, y = passes.aligned_views(problem.x.unit_view, problem.y.unit_view, len(problem.frame.words))
        symmetric, threads = problem.symmetric, problem.run.threads
        graph, kind = passes.empty_graph(0), passes.PanelKind.product
        passes.panel_sums(y, x, graph, 0.0, kind, out, lower=symmetric, threads=threads, progress=report)
        if symmetric:
            passes.make_symmetric(out, threads, from_lower=True)
        np.subtract(1, out, out=out)
        _refine(problem, out)


def _refine(problem: Problem, out: Float32Array) -> None:
    """Compute again the distances that have lost digits."""
    x, y = passes.aligned_views(problem.x.rising_unit_view, problem.y.rising_unit_view, len(problem.frame.words))
    passes.refine_cosine(x, y, COSINE_LOST, out, problem.run.threads)


class CudaCosine(on_device.BlockMethod, CosinePanels):
    """Products of unit rows on a GPU."""

    name = "cuda panels"
    title = "thirty-two documents at a time against all others, on a GPU"

    def device_pass(self, problem: Problem) -> on_device.DeviceBlocks:
        return on_device.cosine_pass(problem)

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        super().run(problem, out, report)
        if problem.symmetric:
            passes.make_symmetric(out, problem.run.threads, from_lower=True)


class L1Panels(_Panels):
    """sum |x - y| = 2 sum max(x - y, 0), because both sum to 1: OMR with every cost 1."""

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        size = len(problem.frame.words)
        x, y = passes.aligned_views(problem.x.view, problem.y.view, size)
        symmetric, threads = problem.symmetric, problem.run.threads
        graph, kind = passes.empty_graph(size), passes.PanelKind.omr
        passes.panel_sums(y, x, graph, 1.0, kind, out, lower=symmetric, threads=threads, progress=report)
        if symmetric:
            passes.make_symmetric(out, threads, from_lower=True)
        out *= 2


_EFFORT = Effort()


def _cosine_gaps(_: Int64Array, x: Float64Array, y: Float64Array) -> tuple[Float64Array, Float64Array]:
    """1 - x.y of vectors of length 1 is sum_i (x_i - y_i)^2 / 2: each gap times half of itself."""
    first, second = (math.sqrt(sum((masses * masses).tolist())) for masses in (x, y))
    gap = np.abs(x / first - y / second)
    return gap, gap / 2


@dataclass(frozen=True, repr=False)
class Cosine(Distance):
    """1 minus the cosine of the angle between two bags."""

    family: str = "cosine"
    title: str = "Cosine of the bags of words"
    methods: tuple[Method, ...] = (CosinePanels(), CudaCosine())
    shared: Shared | None = Shared.PRODUCT
    effort: Effort = _EFFORT

    def moves(self, problem: Problem) -> Taken:
        return by_word(problem.x, problem.y, _cosine_gaps)


@dataclass(frozen=True, repr=False)
class BagL1(Distance):
    """The sum of what the masses of two bags differ by."""

    family: str = "bow-l1"
    title: str = "L1 distance of the bags of words"
    methods: tuple[Method, ...] = (L1Panels(),)
    shared: Shared | None = Shared.MASS
    effort: Effort = _EFFORT

    def moves(self, problem: Problem) -> Taken:
        return by_word(problem.x, problem.y, lambda _, x, y: (np.abs(x - y), np.ones(len(x))))


@dataclass(frozen=True, repr=False)
class TfIdfL1(BagL1):
    """L1 on tf-idf weights."""

    family: str = "tfidf-l1"
    title: str = "L1 distance of tf-idf weights"
    own_weights: str = "idf"


@dataclass(frozen=True, repr=False)
class TfIdfCosine(Cosine):
    """Cosine of tf-idf weights."""

    family: str = "tfidf-cosine"
    title: str = "Cosine of tf-idf weights"
    own_weights: str = "idf"
