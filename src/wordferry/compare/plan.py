"""Which algorithm computes a problem, chosen by estimated work."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wordferry.base.runtime import logger
from wordferry.compare.problem import Problem
from wordferry.errors import InputError

ALGORITHMS = ("auto", "standard", "linear")

# Nanoseconds on one core of the machine of the benchmarks. Only their ratios matter here.
_PASS = 1.6  # one word against sixteen documents of a panel
_LINK = 2.0  # one related word entered into a panel
_EDGE = 1.5  # one edge of the graph made ready for panels
_SCAN = 8.0  # one word of the collection against one query
_WALK = 2.3  # one related word looked up in the other document
_FLOP = 0.03  # one multiply-add of a matrix product
_GATHER = 5.0  # one number of a vector made ready for products
_MINIMUM = 0.17  # one distance compared with the least so far, for many documents
_FOLD = 0.5  # the same for one pair
_PAIR = 60.0  # a pair's fixed cost in the standard algorithms
_METHODS = {
    "panels": "sixteen documents at a time against all others",
    "scan": "one pass over the collection for each query",
    "lists": "pair by pair through the lists of related words",
    "blocks": "distances of the whole vocabulary by blocks, minima over documents, sums",
    "rows": "one matrix product a document, then pair by pair",
    "products": "one matrix product of centroids",
}


@dataclass(frozen=True)
class Plan:
    """What will be done and what it is expected to cost; ``pairwise(..., explain_plan=True)`` gives one."""

    distance: str
    algorithm: str
    """"standard" or "linear"; "" for distances that have one algorithm only."""
    method: str
    pairs: int
    seconds: float
    """Estimated processor time, for comparison between methods rather than as a promise."""
    considered: dict[str, float] = field(default_factory=dict)
    """Estimated seconds of every method that was possible."""
    swapped: bool = False
    """True when the rows of Y, being fewer, play the part of X."""

    def __str__(self) -> str:
        others = ", ".join(f"{name} {value:.3g} s" for name, value in self.considered.items() if name != self.method)
        text = f"{self.distance}: {self.method} ({_METHODS[self.method]}), about {self.seconds:.3g} s"
        text += f" for {self.pairs} pairs"
        return f"{text}; instead of {others}" if others else text


def check_algorithm(problem: Problem, algorithm: str) -> None:
    """Refuse names and combinations that have no meaning."""
    if algorithm not in ALGORITHMS:
        raise InputError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}; got {algorithm!r}.")
    if algorithm != "auto" and not problem.distance.sided:
        raise InputError(f"algorithm={algorithm!r} has no meaning for {problem.distance.name}. Leave it out.")
    if algorithm == "linear" and problem.overlap == "residual":
        raise InputError(
            "overlap='residual' has no linear algorithm, because a word that one pair has used up cannot be a target "
            "for that pair alone. Use algorithm='standard' (or 'auto')."
        )


def make_plan(problem: Problem, algorithm: str = "auto") -> Plan:
    """The cheapest possible method of the algorithm asked for; the choice is logged at debug level."""
    check_algorithm(problem, algorithm)
    name = problem.distance.name
    pairs = problem.shape[0] * problem.shape[1]
    if name == "rel-rwmd":
        costs = _related_costs(problem)
    elif name == "rwmd":
        costs = _dense_costs(problem)
    else:
        method = "products" if name == "wcd" else "panels"
        seconds = 1e-9 * pairs * (_FLOP * _dimensions(problem) if name == "wcd" else _PASS * _words(problem) / 16)
        return _logged(Plan(name, "", method, pairs, seconds, {method: seconds}))
    if problem.overlap == "residual" or algorithm == "standard":
        costs = {method: cost for method, cost in costs.items() if method in ("lists", "rows")}
    elif algorithm == "linear":
        costs = {method: cost for method, cost in costs.items() if method not in ("lists", "rows")}
    method = min(costs, key=costs.__getitem__)
    kind = "standard" if method in ("lists", "rows") else "linear"
    swapped = method in ("scan", "lists", "rows") and problem.shape[1] < problem.shape[0] and not problem.symmetric
    return _logged(Plan(name, kind, method, pairs, costs[method], costs, swapped))


def _logged(plan: Plan) -> Plan:
    logger.debug("%s", plan)
    return plan


def _words(problem: Problem) -> float:
    """Distinct words of an average document, of both sides together."""
    return problem.x.nnz / max(problem.x.shape[0], 1) + problem.y.nnz / max(problem.y.shape[0], 1)


def _dimensions(problem: Problem) -> int:
    return 0 if problem.vectors is None else int(problem.vectors.shape[1])


def _related_costs(problem: Problem) -> dict[str, float]:
    rows, columns = problem.shape
    graph = problem.graph
    edges = graph.nnz if graph is not None else 0
    degree = edges / max(graph.shape[0], 1) if graph is not None else 0.0
    few, many = min(rows, columns), max(problem.x.nnz, problem.y.nnz)
    sides = 1 if problem.symmetric or problem.side != "both" else 2
    passes = problem.y.nnz * np.ceil(rows / 16) + problem.x.nnz * np.ceil(columns / 16)
    entered = (problem.x.nnz + problem.y.nnz) * degree
    costs = {
        "panels": (passes * _PASS + entered * _LINK) * sides / 2 + sides * edges * _EDGE,
        "scan": few * many * _SCAN,
        "lists": rows * columns * (_PAIR + _words(problem) / 2 * degree * _WALK),
    }
    return {method: 1e-9 * float(cost) for method, cost in costs.items()}


def _dense_costs(problem: Problem) -> dict[str, float]:
    rows, columns = problem.shape
    d = _dimensions(problem)
    n_x, n_y = (len(np.unique(side.indices)) for side in (problem.x, problem.y))
    sides = 1 if problem.symmetric or problem.side != "both" else 2
    passes = (problem.y.nnz * rows + problem.x.nnz * columns) / 16 * _PASS
    minima = (problem.x.nnz * n_y + problem.y.nnz * n_x) * _MINIMUM
    few = problem.x.nnz if rows <= columns else problem.y.nnz
    other = n_y if rows <= columns else n_x
    words = _words(problem) / 2
    costs = {
        "blocks": sides * (n_x * n_y * d * _FLOP + (minima + passes) / 2 + (n_x + n_y) * d * _GATHER),
        "rows": other * d * (few * _FLOP + _GATHER) + rows * columns * (_PAIR + words * words * _FOLD),
    }
    return {method: 1e-9 * float(cost) for method, cost in costs.items()}
