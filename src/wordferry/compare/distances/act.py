"""ACT: an approximation of wmd by constrained transfers (Atasu & Mittelholzer 2019)."""

from __future__ import annotations

from dataclasses import dataclass

from wordferry.base.arrays import BoolArray, Int64Array, Neighbors
from wordferry.base.checks import whole_number
from wordferry.compare import on_device
from wordferry.compare.distances.transport import ByPairs, CudaPairs, PairsPass
from wordferry.compare.moves import Costs, Taken, bag_of
from wordferry.compare.problem import Effort, Method, MoverDistance, Problem, parameter
from wordferry.device.transport import TRANSFERS, PairRule
from wordferry.kernels import reference
from wordferry.kernels.passes import Kind, Rule


class Transfers(ByPairs):
    """The kernel of transfers instead of the solver."""

    def rule(self, problem: Problem) -> Rule:
        distance = problem.distance
        assert isinstance(distance, Act)
        return Rule(Kind.act_residual if problem.overlap == "residual" else Kind.act_omr, distance.transfers)


class CudaTransfers(CudaPairs):
    """One warp of a GPU for each pair; values have the bits of the CPU."""

    def device_rule(self, problem: Problem) -> PairRule:
        distance = problem.distance
        assert isinstance(distance, Act)
        return PairRule(TRANSFERS, problem.overlap != "residual", count=distance.transfers)

    def applies(self, problem: Problem) -> bool:
        return True

    def nearest(self, problem: Problem, k: int, mask: BoolArray | None) -> tuple[Neighbors, Int64Array] | None:
        return on_device.Search(problem, k, mask).by(PairsPass)


_MOST_TRANSFERS = 1_000_000
"""More than any document has different words; beyond the words of a document, further transfers change nothing."""
_EFFORT = Effort(80.0, 4.0, 4.0, 20.0)


@dataclass(frozen=True, repr=False)
class Act(MoverDistance):
    """Never above wmd, and nearer to it the more transfers there are.

    ``transfers`` is how many words the mass of a word may be sent to, each of which takes at most its own mass, before
    what is left pays the next distance; the paper's ACT-7 is the default.

    >>> Act(transfers=3)
    act(transfers=3)
    """

    family: str = "act"
    title: str = "Approximate Word Mover's Distance by constrained transfers"
    overlaps: tuple[str, ...] = ("omr", "residual")
    methods: tuple[Method, ...] = (Transfers(), CudaTransfers())
    costly: bool = True
    effort: Effort = _EFFORT
    transfers: int = parameter(7)

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.transfers, "transfers", 0, most=_MOST_TRANSFERS)

    def moves(self, problem: Problem) -> Taken:
        x, y = bag_of(problem.x), bag_of(problem.y)
        costs = Costs(problem.frame)
        sides = reference.act_moves(x, y, costs.between(x, y), problem.overlap, self.transfers)
        side = reference.chosen_side(sides, problem.side)
        return costs.priced(Taken.of(sides[side]), side)
