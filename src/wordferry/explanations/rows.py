"""One row of an explanation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar, overload

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array
from wordferry.base.runtime import check_cancelled
from wordferry.compare.moves import Taken
from wordferry.kernels.reference import Move


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


T = TypeVar("T")


class MadeWhenRead(Sequence[T], ABC):
    """A sequence kept as columns, of which objects are made when somebody looks at them."""

    @abstractmethod
    def _objects(self) -> tuple[T, ...]:
        """One object for each place."""

    @cached_property
    def _made(self) -> tuple[T, ...]:
        check_cancelled()
        return self._objects()

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        return self._made[place]

    def __iter__(self) -> Iterator[T]:
        return iter(self._made)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._made == tuple(other)

    def __repr__(self) -> str:
        return repr(self._made)


class Rows(MadeWhenRead[Row]):
    """The rows of an explanation."""

    def __init__(self, names: Sequence[str], taken: Taken, costs: Float64Array, shares: Float64Array) -> None:
        self.names, self.taken, self.costs, self.shares = names, taken, costs, shares

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Rows:
        """Rows as columns."""
        if isinstance(rows, Rows):
            return rows
        names = list(dict.fromkeys(word for row in rows for word in (row.source, row.target) if word is not None))
        number: dict[str | None, int] = {word: place for place, word in enumerate(names)}
        moves = [Move(number.get(row.source), number.get(row.target), row.mass, row.distance) for row in rows]
        costs, shares = (np.array(list(map(attrgetter(name), rows)), dtype=np.float64) for name in ("cost", "share"))
        return cls(names, Taken.of(moves, [row.kind for row in rows]), costs, shares)

    def __len__(self) -> int:
        return len(self.costs)

    def select(self, places: Int64Array, masses: Float64Array | None = None) -> Rows:
        """Some rows; with ``masses``, those parts of them, each with its part of the cost."""
        taken, names = self.taken, ("sources", "targets", "masses", "distances", "kinds")
        some = replace(taken, **{name: getattr(taken, name)[places] for name in names})
        costs, shares = self.costs[places], self.shares[places]
        if masses is None:
            return Rows(self.names, some, costs, shares)
        parts = self.parts(places, masses)
        return Rows(self.names, replace(some, masses=masses), costs * parts, shares * parts)

    def parts(self, places: Int64Array, masses: Float64Array) -> Float64Array:
        """Which part of the rows at some places these masses are."""
        whole = self.taken.masses[places]
        return np.divide(masses, whole, out=np.ones(len(masses)), where=whole > 0)

    def _objects(self) -> tuple[Row, ...]:
        taken, names = self.taken, [*self.names, None]  # -1 is the last of them
        numbers = (taken.masses, taken.distances, self.costs, self.shares)
        ends = ([names[word] for word in column.tolist()] for column in (taken.sources, taken.targets))
        return tuple(map(Row, *ends, *(column.tolist() for column in numbers), taken.kinds.tolist()))


def rows_of(taken: Taken, names: Sequence[str]) -> Rows:
    """The moves of a distance with words in place of numbers, the most expensive first."""
    check_cancelled()
    costs = taken.masses * taken.distances + 0.0  # no negative zero
    total = taken.total
    made = Rows(names, replace(taken, masses=np.abs(taken.masses)), costs, costs / total if total else costs * 0.0)
    rank = np.zeros(len(names) + 1, dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(1, len(names) + 1)  # before them is none
    ends = rank[taken.sources] * len(rank) + rank[taken.targets]
    return made.select(np.lexsort((ends, -made.taken.masses, -costs)))
