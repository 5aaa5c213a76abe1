"""Values of a prepared problem: which algorithm computes them, and the blocks it works in."""

from __future__ import annotations

import numpy as np

from wordferry.arrays import Csr, Float32Array
from wordferry.kernels import reference
from wordferry.problem import Problem


def fill(problem: Problem, out: Float32Array) -> Float32Array:
    """Write all distances of the problem to ``out``."""
    x, y = _bags(problem.x), _bags(problem.y)
    cost = _cost(problem)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            out[i, j] = _value(problem, a, b, cost)
        if problem.progress is not None:
            problem.progress(i + 1, len(x))
    return out


def _value(problem: Problem, a: dict[int, float], b: dict[int, float], cost: reference.Cost) -> float:
    match problem.distance.name:
        case "cosine" | "tfidf-cosine":
            return reference.cosine(a, b)
        case "bow-l1" | "tfidf-l1":
            return reference.l1(a, b)
        case "wcd":
            return reference.wcd(a, b, np.asarray(problem.vectors))
        case "rwmd" | "rel-rwmd":
            return reference.rwmd(a, b, cost, problem.overlap, problem.side)
        case _:
            return reference.wmd(a, b, cost, problem.overlap)


def _cost(problem: Problem) -> reference.Cost:
    if problem.graph is not None:
        lookup = {}
        for i in range(problem.graph.shape[0]):
            words, costs = problem.graph.row(i)
            lookup[i] = dict(zip(words.tolist(), costs.tolist(), strict=True))
        return reference.related_cost(lookup, problem.c_max)
    return reference.euclidean_cost(problem.vectors if problem.vectors is not None else np.zeros((0, 1)))


def _bags(x: Csr) -> list[dict[int, float]]:
    rows = [x.row(i) for i in range(x.shape[0])]
    return [dict(zip(words.tolist(), mass.tolist(), strict=True)) for words, mass in rows]
