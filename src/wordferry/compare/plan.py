"""Which method computes a problem: the cheapest that applies."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.runtime import Report, logger
from wordferry.compare.problem import Method, Problem
from wordferry.errors import InputError, Unsupported

ALGORITHMS = ("auto", "standard", "linear")


@dataclass(frozen=True)
class MethodPlan:
    """What will be done and what it is expected to cost; ``Measure.plan`` gives one."""

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
    title: str = ""
    """What the method does, in a few words."""

    def __str__(self) -> str:
        others = ", ".join(f"{name} {value:.3g} s" for name, value in self.considered.items() if name != self.method)
        text = f"{self.distance}: {self.method} ({self.title}), about {self.seconds:.3g} s for {self.pairs} pairs"
        return f"{text}; instead of {others}" if others else text


def make_plan(problem: Problem, algorithm: str = "auto") -> MethodPlan:
    """The cheapest method that applies, of the algorithm asked for; the choice is logged at debug level."""
    found = problem.methods
    if algorithm != "auto":
        _check_algorithm(problem, algorithm)
        found = [method for method in found if method.algorithm == algorithm]
    if not found:
        raise Unsupported(
            f"No method of {problem.distance.name} computes overlap={problem.overlap!r}, side={problem.side!r}, "
            f"algorithm={algorithm!r}."
        )
    costs = {method.name: 1e-9 * float(method.cost(problem)) for method in found}
    best = min(found, key=lambda method: costs[method.name])
    rows, columns = problem.shape
    swapped = best.few_first and columns < rows and not problem.symmetric
    name, pairs, seconds = problem.distance.name, rows * columns, costs[best.name]
    plan = MethodPlan(name, best.algorithm, best.name, pairs, seconds, costs, swapped, best.title)
    logger.debug("%s", plan)
    return plan


def fill(problem: Problem, out: Float32Array, plan: MethodPlan | None = None) -> Float32Array:
    """Write all distances of the problem to ``out``, by the method of the plan."""
    chosen = plan or make_plan(problem)
    method = find_method(problem, chosen.method)
    report = Report(problem.run.progress, problem.shape[0] * problem.shape[1])
    if not problem.x.nnz or not problem.y.nnz:  # every pair has an empty document
        out.fill(np.inf)
        problem.settle_empty(out)
    elif out.size:
        if chosen.swapped:
            turned = np.empty(problem.shape[::-1], dtype=np.float32)
            method.run(problem.turned(), turned, report)
            out[...] = turned.T
        else:
            method.run(problem, out, report)
        problem.settle_empty(out)
    report(1.0)
    return out


def find_method(problem: Problem, name: str) -> Method:
    """The method of a plan."""
    return next(method for method in problem.distance.methods if method.name == name)


def _check_algorithm(problem: Problem, algorithm: str) -> None:
    """Refuse names and combinations that have no meaning."""
    if algorithm not in ALGORITHMS:
        raise InputError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}; got {algorithm!r}.")
    kinds = {method.algorithm for method in problem.distance.methods}
    if algorithm not in kinds:
        raise InputError(f"algorithm={algorithm!r} has no meaning for {problem.distance.name}. Leave it out.")
    if algorithm == "linear" and problem.overlap == "residual":
        raise InputError(
            "overlap='residual' has no linear algorithm, because a word that one pair has used up cannot be a target "
            "for that pair alone. Use algorithm='standard' (or 'auto')."
        )
