"""The numbers of the documents of a snapshot, by row, read where they are stored and not copied for all documents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import Int64Array


@dataclass(frozen=True)
class Span:
    """The numbers of the rows of one part, rising."""

    stored: npt.NDArray[Any]
    first: int
    last: int

    def __len__(self) -> int:
        return len(self.stored)

    @cached_property
    def in_a_row(self) -> bool:
        """Whether no number is left out, as nearly always: what is stored need not be looked at then."""
        return self.last - self.first + 1 == len(self)

    @cached_property
    def total(self) -> int:
        """The sum of all of them."""
        if self.in_a_row:
            return (self.first + self.last) * len(self) // 2
        return int(self.stored.sum(dtype=np.int64))

    def of(self, row: int) -> int:
        """The number of a row."""
        return self.first + row if self.in_a_row else int(self.stored[row])

    def places(self, numbers: Int64Array) -> Int64Array:
        """How many numbers are smaller than each of these."""
        if self.in_a_row:
            return np.clip(numbers - self.first, 0, len(self))
        found: Int64Array = np.searchsorted(self.stored, numbers)
        return found


class Numbers:
    """The number of the document of each row, rising."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._starts = np.cumsum([0, *map(len, spans)]).tolist()

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def total(self) -> int:
        """The sum of all of them."""
        return sum(span.total for span in self._spans)

    def of(self, rows: Sequence[int]) -> list[int]:
        """The numbers of some rows."""
        found = []
        for row in rows:
            part = bisect_right(self._starts, row) - 1
            found.append(self._spans[part].of(row - self._starts[part]))
        return found

    def row(self, number: int) -> int | None:
        """The row with a number, or None where there is none."""
        place = self.after(number - 1)
        return place if place < len(self) and self.of([place]) == [number] else None

    def after(self, number: int) -> int:
        """The first row whose number is larger than this one."""
        return sum(int(span.places(np.array([number + 1]))[0]) for span in self._spans)

    def rows(self, numbers: Int64Array) -> tuple[Int64Array, int]:
        """The rows of those of some numbers that are there, and the sum of these numbers."""
        found, total = [np.zeros(0, np.int64)], 0
        for span, start in zip(self._spans, self._starts, strict=False):
            inside = numbers[(numbers >= span.first) & (numbers <= span.last)]
            places = span.places(inside)
            if not span.in_a_row:
                there = span.stored[places] == inside
                inside, places = inside[there], places[there]
            found.append(places + start)
            total += int(inside.sum())
        return np.concatenate(found), total
