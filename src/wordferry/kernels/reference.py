"""The distances as formulas, slow and readable. Nothing here is optimised and nothing of ours is imported.

A document is ``{word: mass}`` with masses that sum to 1. A cost is a function ``cost(i, j)`` that is 0 for i == j.
Sections and equations are those of Werner & Laber, *Speeding up Word Mover's Distance and its variants via
properties of distances between embeddings* (ECAI 2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Bag = Mapping[int, float]
Cost = Callable[[int, int], float]


def euclidean_cost(vectors: npt.NDArray[np.floating[Any]]) -> Cost:
    """c(i,j) = ||x(i) - x(j)||, in float64."""
    x = np.asarray(vectors, dtype=np.float64)
    return lambda i, j: 0.0 if i == j else float(np.linalg.norm(x[i] - x[j]))


def related_cost(graph: Mapping[int, Mapping[int, float]], c_max: float) -> Cost:
    """Equation (7): 0 for the same word, min(c, c_max) for related words, c_max for all others."""

    def cost(i: int, j: int) -> float:
        if i == j:
            return 0.0
        related = graph.get(i, {}).get(j)
        if related is None:
            return c_max
        return related if math.isnan(c_max) else min(related, c_max)

    return cost


def related_words(vectors: npt.NDArray[np.floating[Any]], r: int) -> tuple[dict[int, dict[int, float]], float]:
    """Section 3.2.1: the union of each word's r nearest others, and c_max, the mean of all other distances."""
    x = np.asarray(vectors, dtype=np.float64)
    n = len(x)
    graph: dict[int, dict[int, float]] = {i: {} for i in range(n)}
    total, count = 0.0, 0
    for i in range(n):
        distance = np.linalg.norm(x - x[i], axis=1)
        order = sorted((j for j in range(n) if j != i), key=lambda j: (distance[j], j))
        for j in order[:r]:
            graph[i][j] = graph[j][i] = float(distance[j])
        total += sum(float(distance[j]) for j in order[r:])
        count += len(order[r:])
    return graph, total / count if count else math.nan


def _empty(x: Bag, y: Bag) -> float | None:
    if x and y:
        return None
    return 0.0 if not x and not y else math.inf


def cosine(x: Bag, y: Bag) -> float:
    """1 - x.y / (|x| |y|)."""
    if (empty := _empty(x, y)) is not None:
        return empty
    dot = sum(mass * y.get(i, 0.0) for i, mass in x.items())
    norms = math.sqrt(sum(m * m for m in x.values())) * math.sqrt(sum(m * m for m in y.values()))
    return max(0.0, 1.0 - dot / norms)


def l1(x: Bag, y: Bag) -> float:
    """sum_i |x_i - y_i|; on tf-idf weights scaled to sum 1 this is tfidf-l1."""
    if (empty := _empty(x, y)) is not None:
        return empty
    return sum(abs(x.get(i, 0.0) - y.get(i, 0.0)) for i in sorted(x.keys() | y.keys()))


def wcd(x: Bag, y: Bag, vectors: npt.NDArray[np.floating[Any]]) -> float:
    """Word centroid distance: || sum_i x_i v(i) - sum_j y_j v(j) ||."""
    if (empty := _empty(x, y)) is not None:
        return empty
    v = np.asarray(vectors, dtype=np.float64)

    def centre(bag: Bag) -> npt.NDArray[np.float64]:
        return np.asarray(np.sum([mass * v[i] for i, mass in bag.items()], axis=0, dtype=np.float64))

    return float(np.linalg.norm(centre(x) - centre(y)))


def one_way(x: Bag, y: Bag, cost: Cost, overlap: str = "keep") -> float:
    """One term of equation (5): each word of x moves all its mass to the nearest word of y.

    keep: the plain formula. omr: the mass common to both stays, what exceeds it pays the distance to the nearest
    *other* word of y. residual: the common mass is removed from both, and the formula is applied to what is left.
    """
    if overlap == "residual":
        x, y = residual(x, y)
        return sum(mass * min(cost(i, j) for j in y) for i, mass in x.items())
    if overlap == "omr":
        excess = {i: mass - y.get(i, 0.0) for i, mass in x.items() if mass > y.get(i, 0.0)}
        return sum(mass * min((cost(i, j) for j in y if j != i), default=0.0) for i, mass in excess.items())
    return sum(mass * min(cost(i, j) for j in y) for i, mass in x.items())


def residual(x: Bag, y: Bag) -> tuple[dict[int, float], dict[int, float]]:
    """What is left of both bags when the common mass min(x_i, y_i) is taken away."""
    left = {i: mass - y.get(i, 0.0) for i, mass in x.items() if mass > y.get(i, 0.0)}
    right = {j: mass - x.get(j, 0.0) for j, mass in y.items() if mass > x.get(j, 0.0)}
    if not left or not right:  # equal bags up to rounding
        return {}, {}
    return left, right


def rwmd(x: Bag, y: Bag, cost: Cost, overlap: str = "omr", side: str = "both") -> float:
    """Equation (5): the larger of the two one-sided relaxations. With :func:`related_cost` this is Rel-RWMD (12)."""
    if (empty := _empty(x, y)) is not None:
        return empty
    left, right = one_way(x, y, cost, overlap), one_way(y, x, cost, overlap)
    return {"both": max(left, right), "left": left, "right": right}[side]


def wmd(x: Bag, y: Bag, cost: Cost, overlap: str = "keep") -> float:
    """Equations (1)-(4): the cheapest transport of x onto y, by linear programming.

    With :func:`related_cost` this is Rel-WMD; then ``overlap="residual"`` (common mass stays) and ``"keep"`` differ.
    """
    from scipy.optimize import linprog

    if (empty := _empty(x, y)) is not None:
        return empty
    if overlap == "residual":
        x, y = residual(x, y)
        if not x:
            return 0.0
    rows, columns = sorted(x), sorted(y)
    m, n = len(rows), len(columns)
    c = np.array([[cost(i, j) for j in columns] for i in rows])
    a = np.zeros((m + n, m * n))
    for i in range(m):
        a[i, i * n : (i + 1) * n] = 1
    for j in range(n):
        a[m + j, j::n] = 1
    b = np.array([x[i] for i in rows] + [y[j] for j in columns])
    result = linprog(c.ravel(), A_eq=a[:-1], b_eq=b[:-1], bounds=(0, None), method="highs")
    return float(result.fun)


def act(x: Bag, y: Bag, cost: Cost, overlap: str = "omr", transfers: int = 7) -> float:
    """Iterative constrained transfers (Atasu & Mittelholzer 2019, section 4), the larger of both directions.

    Common mass stays. What exceeds it goes to the nearest other words, to each at most that word's mass (in
    "residual": what is left of it), regardless of what other words send there; after ``transfers`` such words the rest
    pays the distance to the next one.
    """
    if (empty := _empty(x, y)) is not None:
        return empty
    left, right = residual(x, y)

    def one_side(source: Bag, target: Bag) -> float:
        total = 0.0
        for i, mass in source.items():
            nearest = sorted((cost(i, j), j) for j in target if j != i)
            for step, (distance, j) in enumerate(nearest):
                moved = min(mass, target[j]) if step < transfers and step + 1 < len(nearest) else mass
                total, mass = total + moved * distance, mass - moved
        return total

    return max(
        one_side(left, right if overlap == "residual" else y), one_side(right, left if overlap == "residual" else x)
    )
