"""One row of an explanation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from wordferry.base.cancel import check_cancelled
from wordferry.compare.moves import Taken

_CHECKED = 256
"""Rows after which cancelling is noticed."""


@dataclass(frozen=True, slots=True)
class Row:
    """Mass of one word that went somewhere.

    ``kind`` says how it is priced: "same" (stays, free), "moved" (at the distance of the vectors), "related" (at the
    distance of related words), "c_max" (no related word), or for distances without moves "both", "a" or "b": whose
    word it is.
    """

    source: str | None
    target: str | None
    mass: float
    distance: float
    cost: float
    share: float
    kind: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names people use."""
        return {
            "from": self.source,
            "to": self.target,
            "mass": self.mass,
            "distance": self.distance,
            "cost": self.cost,
            "share": self.share,
            "kind": self.kind,
        }

    def part(self, mass: float) -> Row:
        """A part of this move, with its part of the cost."""
        share = mass / self.mass
        return Row(self.source, self.target, mass, self.distance, self.cost * share, self.share * share, self.kind)


def rows_of(taken: Taken, names: list[str]) -> tuple[list[Row], float]:
    """The moves of a distance with words in place of numbers, the most expensive first, and their sum."""
    costs = [move.mass * move.distance + 0.0 for move in taken.moves]  # no negative zero
    total = math.fsum(costs)
    found = []
    for number, ((source, target, mass, distance), kind, cost) in enumerate(
        zip(taken.moves, taken.kinds, costs, strict=True)
    ):
        if number % _CHECKED == 0:
            check_cancelled()
        left = None if source is None else names[source]
        right = None if target is None else names[target]
        found.append(Row(left, right, abs(mass), distance, cost, cost / total if total else 0.0, kind))
    found.sort(key=lambda row: (-row.cost, -row.mass, row.source or "", row.target or ""))
    return found, total
