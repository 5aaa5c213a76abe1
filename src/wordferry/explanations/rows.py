"""One row of an explanation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wordferry.base.cancel import check_cancelled
from wordferry.compare.moves import Taken


@dataclass(frozen=True)
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

    @property
    def sort_key(self) -> tuple[str, str]:
        return self.source or "", self.target or ""

    def with_share(self, total: float) -> Row:
        return replace(self, share=self.cost / total if total else 0.0)


def rows_of(taken: Taken, names: list[str]) -> list[Row]:
    """The moves of a distance with words in place of numbers."""
    rows = []
    for move, kind in zip(taken.moves, taken.kinds, strict=True):
        check_cancelled()
        source, target = (None if word is None else names[word] for word in (move.source, move.target))
        cost = move.mass * move.distance + 0.0  # no negative zero
        rows.append(Row(source, target, abs(move.mass), move.distance, cost, 0.0, kind))
    return rows
