"""A weighted sum of distances of the same documents, with the same weights of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array
from wordferry.base.checks import real_number
from wordferry.base.runtime import Report
from wordferry.compare import on_device
from wordferry.compare.moves import Taken
from wordferry.compare.problem import Distance, Method, Problem
from wordferry.errors import InputError


class Sum(Method):
    """Each part by its own cheapest method, then added."""

    name = "sum"
    title = "each part by its own cheapest method, then added"

    def cost(self, problem: Problem) -> float:
        return sum(_cheapest(part)[1] for part, _ in _parts(problem))

    def run(self, problem: Problem, out: Float32Array, report: Report) -> None:
        parts = _parts(problem)
        values = np.empty(out.shape, dtype=np.float32)
        for number, (part, share) in enumerate(parts):
            tick = report.part(number / len(parts), (number + 1) / len(parts))
            _cheapest(part)[0].run(part, values if number else out, tick)
            if number == 0:
                out *= np.float32(share)
            else:
                out += np.float32(share) * values


class CudaSum(on_device.BlockMethod, Sum):
    """Parts that a GPU computes by panels of documents, added there."""

    name = "cuda sum"
    title = "each part by panels of documents on a GPU, then added"

    def applies(self, problem: Problem) -> bool:
        return all(_panels(part) for part, _ in _parts(problem))

    def device_pass(self, problem: Problem) -> on_device.SumPass:
        return on_device.SumPass([(_panels(part)[0].device_pass(part), share) for part, share in _parts(problem)])


def _panels(problem: Problem) -> list[Method]:
    """The methods of a GPU that compute a part by panels of documents."""
    found = (one for one in problem.distance.methods if one.device and one.applies(problem))
    return [one for one in found if one.name in _BY_PANELS]


def _parts(problem: Problem) -> list[tuple[Problem, float]]:
    """The problem of each part: the overlap and the side that were asked for go to the parts that know them."""
    blend = problem.distance
    assert isinstance(blend, Blend)
    found = []
    for distance, share in blend.parts:
        overlap = part_overlap(distance, problem.overlap)
        found.append((problem.by(distance, overlap, problem.side if distance.sided else "both"), share))
    return found


def part_overlap(distance: Distance, overlap: str) -> str:
    """The overlap of a distance in a blend of this overlap."""
    own = distance.overlaps[0] if distance.overlaps else "keep"
    return overlap if overlap in distance.overlaps and overlap != _OWN else own


def _cheapest(problem: Problem) -> tuple[Method, float]:
    """The method of the CPU for a part, and its cost."""
    costs = [(method, method.cost(problem)) for method in problem.running(device="cpu").methods]
    return min(costs, key=lambda pair: pair[1])


_SHARES = 1e-6, 1e6
"""The least and the largest share. What lies outside would drown the other parts in the rounding of float32."""
_METHODS = (Sum(), CudaSum())
_BY_PANELS = ("cuda panels", "cuda blocks")
_OWN = "own"
"""The overlap of a blend: that of each of its distances."""


@dataclass(frozen=True, repr=False)
class Blend(Distance):
    """The sum of shares of other distances; ``wordferry.blend(("rel-rwmd", 1), ("cosine", 0.5))``, or by name
    ``"rel-rwmd + 0.5*cosine"``. Each distance has its own default overlap unless ``overlap=`` names one."""

    parts: tuple[tuple[Distance, float], ...] = ()

    @property
    def costs(self) -> frozenset[str]:
        return frozenset().union(*(distance.costs for distance, _ in self.parts))

    @classmethod
    def made(cls, parts: Mapping[Distance, float]) -> Blend:
        """A blend of distances and their shares."""
        shares = tuple((distance, _checked(share, distance)) for distance, share in parts.items())
        if not shares:
            raise InputError("A blend needs at least one distance.")
        wrong = [d for d, _ in shares if d.own_weights or isinstance(d, Blend)]
        if wrong:
            instead = "wmd(cost=cosine)" if wrong[0].needs_vectors else "cosine or bow-l1"
            raise InputError(
                f"{wrong[0].name} cannot be part of a blend, whose distances share the weights of words. "
                f"Use {instead} and pass weights={wrong[0].own_weights or 'counts'!r}."
            )
        overlaps = dict.fromkeys(mode for d, _ in shares for mode in d.overlaps)
        return cls(
            family=" + ".join(d.name if share == 1 else f"{_written(share)}*{d.name}" for d, share in shares),
            title=f"Sum of {len(shares)} distances",
            needs_vectors=any(d.needs_vectors for d, _ in shares),
            needs_related=any(d.needs_related for d, _ in shares),
            overlaps=(_OWN, *overlaps) if overlaps else (),
            sides=("both", "left", "right") if any(d.sided for d, _ in shares) else ("both",),
            methods=_METHODS,
            costly=any(d.costly for d, _ in shares),
            effort=max((d.effort for d, _ in shares), key=lambda effort: effort.pair),
            parts=shares,
        )

    def least_moves(self, problem: Problem) -> Float64Array | None:
        """What words cost by the first part of which that is known; the others are at least 0."""
        for part, share in _parts(problem):
            least = part.distance.least_moves(part)
            if least is not None:
                return share * least
        return None

    def moves(self, problem: Problem) -> Taken:
        """The moves of every part, each at its share of the cost; all are shown from the first document's side."""
        parts = []
        for part, share in _parts(problem):
            taken = part.distance.moves(part)
            if taken.side == "right":
                taken = replace(taken, sources=taken.targets, targets=taken.sources)
            parts.append(replace(taken, distances=taken.distances * share))
        return Taken.join(parts)


def _checked(share: float, distance: Distance) -> float:
    return real_number(share, f"The share of {distance.name} in a blend", *_SHARES)


def _written(share: float) -> str:
    """The share in digits that read back as the same number, without an exponent."""
    return np.format_float_positional(share, trim="-")
