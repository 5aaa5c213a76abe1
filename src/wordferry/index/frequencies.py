"""In how many documents words stand, from the lengths of the inverted lists; no document is read but deleted ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wordferry.base.arrays import BoolArray, Int64Array
from wordferry.index.snapshot import Part, Snapshot, damaged_part


class Frequencies(NamedTuple):
    """In how many documents of a part each word stands, with a vector or without."""

    known: Int64Array
    others: Int64Array

    @classmethod
    def of(cls, part: Part, known: int, others: int) -> Frequencies:
        """From the lengths of the lists; ``known`` and ``others`` are how many words there are of each kind."""
        try:
            return cls(
                *(some.frequencies(size) for some, size in ((part.rows.lists, known), (part.rows.other_lists, others)))
            )
        except ValueError as error:
            raise damaged_part(part, error) from None

    def living(self, part: Part, alive: BoolArray | None) -> Frequencies:
        """Without the documents that are deleted."""
        if alive is None or alive.all():
            return self
        dead = part.bags.select(np.flatnonzero(~alive))
        return Frequencies(
            self.known - np.bincount(dead.words, minlength=len(self.known)),
            self.others - np.bincount(dead.others.words, minlength=len(self.others)),
        )


def tokens_of(part: Part, alive: BoolArray | None, *, others: bool) -> float:
    """How many tokens the living documents of a part have."""
    counts = part.rows.totals.astype(np.float64)
    if others:
        sums = np.concatenate(([0], np.cumsum(part.bags.others.counts, dtype=np.int64)))
        counts += np.diff(sums[part.bags.others.indptr])
    return float(counts.sum() if alive is None else counts[alive].sum())


class LivingFrequencies:
    """The frequencies in the living documents of snapshots; those of a part are remembered."""

    def __init__(self, known: int) -> None:
        self._known = known
        self._parts: dict[Any, Frequencies] = {}

    def of(self, snapshot: Snapshot) -> Frequencies:
        """In how many living documents each word stands; words without a vector that came later stand in none."""
        others = int(snapshot.state["others"])
        known, unknown = np.zeros(self._known, dtype=np.int64), np.zeros(others, dtype=np.int64)
        parts = {}
        for part in snapshot.parts:
            every = self._parts.get(part.key) or Frequencies.of(part, self._known, others)
            parts[part.key], found = every, every.living(part, living(part, snapshot))
            try:
                known += found.known
                unknown[: len(found.others)] += found.others[:others]
            except ValueError as error:
                raise damaged_part(part, error) from None
        self._parts = parts
        return Frequencies(known, unknown)


def living(part: Part, snapshot: Snapshot) -> BoolArray | None:
    """Which documents of a part are not deleted; None when all of the snapshot are there."""
    return None if snapshot.alive is None else snapshot.alive[part.span]
