"""Sinkhorn distances: transport made soft by an entropy term, so that every word goes a little everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.checks import real_number, whole_number
from wordferry.compare.distances.transport import ByPairs, CudaPairs, WordMoverTransport
from wordferry.compare.moves import Costs, Plan, Taken, row_of
from wordferry.compare.problem import Distance, Effort, Method, MoverDistance, Problem, parameter
from wordferry.device.transport import SOFT, PairRule
from wordferry.kernels.passes import Kind, Rule, SoftPlan, soft_plan

_ARC = 400.0  # nanoseconds for one pair of words of one problem, in some hundred rounds
_LEAST_MASS = 1e-12
"""Moves of less are left out of explanations: all of them together are below the rounding of float32."""
_EFFORT = Effort(400.0, 2.0, pair=400.0)


class SinkhornPairs(ByPairs):
    """Rows and columns scaled in turn; a search solves the problem first, and leaves out what it rules out."""

    title = "pair by pair from word-to-word costs, rows and columns scaled in turn"

    def rule(self, problem: Problem) -> Rule:
        distance = problem.distance
        assert isinstance(distance, Sinkhorn)
        return distance.rule(problem.overlap)

    def cost(self, problem: Problem) -> float:
        return super().cost(problem) * _ARC / 12.0


class CudaSinkhorn(CudaPairs):
    """The rounds of the CPU by one warp of a GPU for each pair; prices of a first start rule out pairs of a search."""

    def device_rule(self, problem: Problem) -> PairRule:
        distance = problem.distance
        assert isinstance(distance, Sinkhorn)
        soft = distance.regularization, distance.tolerance, distance.rounds
        return PairRule(SOFT, problem.overlap == "keep", *soft)


@dataclass(frozen=True, repr=False)
class Sinkhorn(MoverDistance):
    """The cost of the plan that minimises cost - regularization * entropy (Cuturi 2013); never below wmd.

    ``regularization`` is in units of the costs; towards 0 the value goes to wmd. Rounds end when the masses of the plan
    are right up to ``tolerance`` (of a whole of 1), or after ``rounds`` of them; what is then missing is spread in
    proportion, so that the value is that of a plan with the right masses.

    >>> Sinkhorn(regularization=0.01)
    sinkhorn(regularization=0.01)
    """

    family: str = "sinkhorn"
    title: str = "Sinkhorn distance"
    methods: tuple[Method, ...] = (SinkhornPairs(), CudaSinkhorn())
    transport: bool = True
    costly: bool = True
    effort: Effort = _EFFORT
    regularization: float = parameter(0.05)
    tolerance: float = parameter(1e-6)
    rounds: int = parameter(1000)

    def __post_init__(self) -> None:
        super().__post_init__()
        real_number(self.regularization, "regularization", 1e-6, 1e6)
        real_number(self.tolerance, "tolerance", 0.0, 1.0)
        whole_number(self.rounds, "rounds", 1, most=1_000_000)
        self._set_overlaps(*(("residual", "keep") if self.metric else ("keep", "residual")))

    def bounds(self, overlap: str, unknown: bool = False) -> tuple[tuple[Distance, str], ...]:
        return WordMoverTransport(cost=self.cost).bounds(overlap, unknown)

    def rule(self, overlap: str) -> Rule:
        """What kernels need."""
        soft = self.regularization, self.tolerance, self.rounds
        return Rule(Kind.wmd, 0, overlap == "keep", *soft)

    def moves(self, problem: Problem) -> Taken:
        """The soft plan, with a bound from its potentials on the cheapest plan."""
        found: list[tuple[SoftPlan, float]] = []

        def solved(supply: Float64Array, demand: Float64Array, costs: Float64Array) -> Plan:
            total = sum(supply.tolist())
            masses = supply / total, demand / sum(demand.tolist())
            soft = soft_plan(*masses, costs.astype(np.float32), self.rule(problem.overlap))
            found.append((soft, total))
            plan = soft.plan * total
            rows, columns = np.nonzero(plan > _LEAST_MASS)
            return rows, columns, plan[rows, columns]

        costs = Costs(problem.frame)
        taken = costs.priced(costs.cheapest(row_of(problem.x), row_of(problem.y), problem.overlap, solved))
        if not found:
            return taken
        soft, total = found[0]
        # Distances are rounded to float32; so is the bound, which is then never above the rounded wmd.
        bound = float(np.float32(soft.lower_bound * total))
        facts = {"lower_bound": bound, "marginal_error": soft.error, "rounds": soft.rounds}
        return replace(taken, facts=facts)
