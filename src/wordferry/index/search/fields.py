"""What documents can be filtered by: the fields of their metadata, and the values that come most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray
from wordferry.index.storage.columns import FALSE, FIRST, MISSING, NULL, TRUE, Column, Columns, values_in

_PLAIN = {NULL: None, FALSE: False, TRUE: True}
_MOST_COUNTED = 10_000
"""Different values of a field above which none is listed: it tells documents apart rather than grouping them."""


@dataclass(frozen=True)
class Field:
    """One field: in how many documents it stands, and with which values."""

    name: str
    documents: int
    values: tuple[tuple[Any, int], ...]
    """The values that come most often, each with its number of documents; none where there are too many values."""
    least: float | None
    most: float | None
    """The range of its numbers, where it has any."""


@dataclass
class _Tally:
    """What was counted of one field."""

    documents: int = 0
    counts: Counter[tuple[str, Any]] = field(default_factory=Counter)
    numbers: list[float] = field(default_factory=list)
    many: bool = False

    def add(self, column: Column, alive: BoolArray | None) -> None:
        """Count the values of some documents."""
        codes = column.codes if alive is None else column.codes[alive]
        found = np.bincount(codes, minlength=column.size)
        self.documents += len(codes) - int(found[MISSING])
        present = np.flatnonzero(found[FIRST:]) + FIRST
        for values, start in list(column.kinds())[:2]:
            inside = present[(present >= start) & (present < start + len(values))]
            if len(inside):
                self.numbers += [values[int(inside[0]) - start], values[int(inside[-1]) - start]]
        self.many = self.many or len(present) > _MOST_COUNTED
        if not self.many:
            for code in [*range(NULL, FIRST), *present.tolist()]:
                if found[code]:  # 1, 1.0 and True are equal in Python, hence the kind
                    for value in values_in(_value(column, code)):
                        self.counts[type(value).__name__, value] += int(found[code])

    def field(self, name: str, most: int) -> Field:
        """The tally as it is shown; ties in the order of the values."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0][0], str(item[0][1])))
        values = () if self.many else tuple((value, count) for (_, value), count in ordered[:most])
        return Field(name, self.documents, values, min(self.numbers, default=None), max(self.numbers, default=None))


def fields_of(parts: Sequence[tuple[Columns, BoolArray | None]], most: int) -> list[Field]:
    """The fields of documents in columns, those alive only; the one that most documents have first."""
    tallies: dict[str, _Tally] = {}
    for columns, alive in parts:
        for name in columns.names:
            tallies.setdefault(name, _Tally()).add(columns.get(name), alive)
    found = [tally.field(name, most) for name, tally in tallies.items() if tally.documents]
    return sorted(found, key=lambda one: (-one.documents, one.name))


def _value(column: Column, code: int) -> Any:
    if code < FIRST:
        return _PLAIN[code]
    return next(values[code - start] for values, start in column.kinds() if start <= code < start + len(values))
