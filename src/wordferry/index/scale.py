"""What words weigh in one state of an index, and how much those count that a document has more than once.

A document's mass of a word is what the word counts in it times what the word weighs, as a share of the sum over the
document. A word that stands there once counts 1. With most weights more of it count as often as they stand there; with
"log-idf" ``1 + ln(count)`` times, and with "bm25" the less the shorter the document is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import Float64Array, Int64Array
from wordferry.index.snapshot import Part, damaged_part
from wordferry.kernels import related_lists as lists
from wordferry.kernels.native import Repeats, add_row_sums
from wordferry.texts.weights import Weighting, room_for

_GROWTH = {"log-idf": "logarithm", "bm25": "saturation"}
"""Schemes by which what a word counts does not grow as its count does."""
_LEAST_WEIGHT = 1e-12


@dataclass(frozen=True, eq=False)
class Asked:
    """The words of a query that count: those the index knows by their numbers, which rise, and how many others."""

    ids: Int64Array
    counts: Float64Array
    others: Int64Array
    other_counts: Float64Array
    new_counts: Float64Array
    """Of the words that have no vector and that no document has."""

    @property
    def words(self) -> int:
        """How many different words there are."""
        return len(self.ids) + len(self.others) + len(self.new_counts)


class AskedWeights(NamedTuple):
    """What the words of a query weigh in it."""

    known: Float64Array
    others: Float64Array
    new: Float64Array


@dataclass(frozen=True, eq=False)
class Scale:
    """What each word weighs in one state of an index."""

    known: Float64Array
    others: Float64Array
    """By the numbers that the index gives them; none where they do not count."""
    unseen: float
    """The weight of a word that is new."""
    growth: str = "counts"
    mean_length: float = 1.0
    """The mean number of words of a document, where what repeated words count depends on its length."""
    drifts: WeakKeyDictionary[Scale, Any] = field(default_factory=WeakKeyDictionary)
    """What is known of how it came from earlier ones, which it does not keep."""
    _repeats: dict[Any, Repeats] = field(default_factory=dict)

    @classmethod
    def of(cls, weighting: Weighting | None, known: int, others: int) -> Scale:
        if weighting is None:
            return cls(np.ones(known), np.ones(others), 1.0)
        weights = weighting.of(np.arange(known + others))
        growth = _GROWTH.get(weighting.scheme, "counts")
        return cls(weights[:known], weights[known:], weighting.unseen, growth, weighting.mean_length)

    @cached_property
    def uniform(self) -> bool:
        """Whether every word weighs 1, as often as it stands in a document."""
        return self.growth == "counts" and bool((self.known == 1).all() and (self.others == 1).all())

    @cached_property
    def native(self) -> lists.WordWeights:
        """The same as kernels take it; every word must weigh something."""
        return lists.WordWeights(self.known, self.others)

    @cached_property
    def positive(self) -> bool:
        """Whether every word weighs something, and none so little or so much that kernels would refuse it."""
        every = np.concatenate([self.known, self.others, [self.unseen]])
        return bool((every > 2 * _LEAST_WEIGHT).all() and (every < 0.5 / _LEAST_WEIGHT).all())

    def lengths(self, part: Part, *, others: bool) -> Float64Array:
        """How many words each document of a part has, with or without those that have no vector."""
        found = part.rows.totals.astype(np.float64)
        if others:
            self._add(part, found, np.ones(len(self.others)))
        return found

    def repeats(self, part: Part, *, others: bool) -> Repeats:
        """How much repeated words count in the documents of a part."""
        if self.growth != "saturation":
            return Repeats(self.growth)
        key = (part.key, others)
        found = self._repeats.get(key)
        if found is None:
            room = room_for(self.lengths(part, others=others), self.mean_length)
            found = self._repeats[key] = Repeats(self.growth, room)
        return found

    def sums(self, part: Part, *, others: bool, squared: bool = False) -> Float64Array:
        """The sum of what the words of each document weigh in it, or of the squares; words with vectors come first."""
        bags, out, repeats = part.bags, np.zeros(len(part.bags)), self.repeats(part, others=others)
        try:
            add_row_sums((bags.indptr, bags.words, bags.counts), self.known, out, squared=squared, repeats=repeats)
        except ValueError as error:
            raise damaged_part(part, error) from None
        if others:
            self._add(part, out, self.others, squared=squared, repeats=repeats)
        if len(part.rows) > lists.BLOCK:  # a search needs little of what was walked just now
            part.rows.let_go()
        return out

    def _add(self, part: Part, sums: Float64Array, weights: Float64Array, **how: Any) -> None:
        """Add what the words without vectors weigh."""
        try:
            add_row_sums(part.bags.others, weights, sums, **how)
        except ValueError as error:
            raise damaged_part(part, error) from None

    def times(self, counts: npt.NDArray[Any], room: Float64Array | float | None) -> Float64Array:
        """How much words count of which documents have so many; ``room`` is that of the document of each."""
        numbers = counts.astype(np.float64)
        if self.growth == "logarithm":  # by the same function as in the kernels, so that equal documents are equal
            values, places = np.unique(numbers, return_inverse=True)
            return np.array([1 + math.log(value) for value in values.tolist()])[places]
        if self.growth == "saturation":
            assert room is not None
            found: Float64Array = np.where(numbers > 1, numbers * (1 + room) / (numbers + room), numbers)
            return found
        return numbers

    def asked(self, asked: Asked) -> AskedWeights:
        """What the words of a query weigh in it."""
        kinds: Sequence[Float64Array] = (asked.counts, asked.other_counts, asked.new_counts)
        room = room_for(sum(float(some.sum()) for some in kinds), self.mean_length)
        known, others, new = (self.times(some, room) for some in kinds)
        return AskedWeights(known * self.known[asked.ids], others * self.others[asked.others], new * self.unseen)
