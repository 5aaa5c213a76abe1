"""What the documents of a part weigh in one state of an index, and how little of that must be made anew after a change.

The weights of words follow from the whole collection, so with every change the sums of all documents do. But few words
change much: their lists say which documents those are in, and all other words change by nearly the same. Sums that are
worked out so are off by a known little. They do for bounds; documents that are compared are summed up by themselves.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int64Array
from wordferry.index.scale import Scale
from wordferry.index.snapshot import Part, damaged_part
from wordferry.kernels import related_lists as lists

_DRIFT = 2e-3
"""A word that weighs more or less by a larger share than this is looked up in its list."""
_MANY = 20_000
"""Where more words than this have changed so, documents are summed up again."""
_FEW = lists.BLOCK
"""No more documents than this are summed up again with every change."""
_ROUNDING = 1e-5
"""Sums in float32 are off by no larger share."""
_NO_BAGS = np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.uint8)
_NO_WORDS = lists.Stored(lists.build(*_NO_BAGS), _NO_BAGS, np.zeros(0, np.float32))


class Changed(NamedTuple):
    """Words that weigh more or less than they did, all others being off by a small share."""

    words: Int64Array
    less: Float64Array
    """How much less each of them weighs, beside what all words have changed by."""
    rest: float
    """The largest share by which one of the others has changed."""

    @classmethod
    def between(cls, before: Float64Array, now: Float64Array, shift: float) -> Changed:
        """The change of words, of which some may have come since."""
        less = before + shift - now[: len(before)]
        share = np.abs(less) / now[: len(before)]
        far = share > _DRIFT
        words = np.flatnonzero(far)
        return cls(words, less[words], float(share[~far].max(initial=0)))


class Drift(NamedTuple):
    """How the weights of words have changed from one state to another."""

    shift: float
    """By how much most words weigh more: those that stand in no document that came or went."""
    known: Changed
    others: Changed

    @classmethod
    def between(cls, before: Scale, now: Scale) -> Drift:
        """Worked out once for all parts."""
        found = now.drifts.get(before)
        if found is None:
            shift = float(np.median(now.known - before.known))
            known = Changed.between(before.known, now.known, shift)
            found = now.drifts[before] = cls(shift, known, Changed.between(before.others, now.others, shift))
        drift: Drift = found
        return drift


class Sums:
    """The sums of the documents of a part, and the part as kernels take it with them.

    ``earlier`` are those of the same part in an earlier state, where there are some.
    """

    def __init__(self, part: Part, scale: Scale, *, others: bool, earlier: Sums | None = None) -> None:
        self._part, self._scale, self._others = part, scale, others
        self._earlier = earlier
        self.repeats = scale.repeats(part, others=others)

    @cached_property
    def exact(self) -> Float64Array:
        """The sum of each document, as it is made everywhere."""
        return self._scale.sums(self._part, others=self._others)

    @cached_property
    def short(self) -> Float32Array:
        """The same in float32."""
        return self.exact.astype(np.float32)

    @cached_property
    def _lengths(self) -> Float32Array:
        """How many words each document has, which no change of the collection changes."""
        if self._earlier is not None:
            return self._earlier._lengths
        found = self._scale.lengths(self._part, others=self._others).astype(np.float32)
        if len(self._part.rows) > lists.BLOCK:  # a search needs little of what was walked just now
            self._part.rows.let_go()
        return found

    @cached_property
    def stored(self) -> lists.WeighedStored:
        """Documents with the words that count."""
        return self._stored(self.short, self.exact)

    @cached_property
    def rough(self) -> lists.WeighedStored:
        """The same for bounds, and for documents that are summed up by themselves: off by up to :attr:`error`."""
        return self._stored(self.short if self._drifted is None else self._drifted[0], np.zeros(0))

    @property
    def error(self) -> float:
        """The share of a sum by which it may be off in :attr:`rough`."""
        return 0.0 if self._drifted is None else self._drifted[1]

    @property
    def base(self) -> Sums:
        """What sums of later states are best made of."""
        return self if self._drifted is None or self._earlier is None else self._earlier

    def _stored(self, sums: Float32Array, exact: Float64Array) -> lists.WeighedStored:
        rows = self._part.rows
        known = lists.Stored(rows.lists, (rows.bags.indptr, rows.bags.words, rows.bags.counts), sums)
        others = _NO_WORDS
        if self._others:
            indptr, words, counts = rows.bags.others
            others = lists.Stored(rows.other_lists, (indptr.astype(np.int64, copy=False), words, counts), sums)
        longest = float(self._lengths.max(initial=0))
        return lists.WeighedStored(known, others, exact, longest, self.repeats)

    @cached_property
    def _drifted(self) -> tuple[Float32Array, float] | None:
        """The earlier sums with what has changed since, and how far off that may be; None where it does not pay."""
        found = self._of_earlier()
        if found is None and self._earlier is not None:
            self._lengths = self._earlier._lengths
            self._earlier = None  # nor are those kept that they came from
        return found

    def _of_earlier(self) -> tuple[Float32Array, float] | None:
        earlier, scale = self._earlier, self._scale
        if earlier is None or scale.growth != "counts" or len(self._part.rows) <= _FEW:
            return None
        drift = Drift.between(earlier._scale, scale)
        kinds = [(drift.known, self._part.rows.lists)]
        if self._others:
            kinds.append((drift.others, self._part.rows.other_lists))
        if any(len(changed.words) > _MANY for changed, _ in kinds):
            return None
        found: Float32Array = earlier.short + np.float32(drift.shift) * self._lengths
        for changed, listed in kinds:
            if len(changed.words):
                found += self._of(listed, changed)
        return found, _ROUNDING + sum(changed.rest for changed, _ in kinds)

    def _of(self, listed: lists.Lists, changed: Changed) -> Float32Array:
        """What the words that have changed add to documents, or take away."""
        nothing = np.zeros(len(changed.words), dtype=np.float32)
        touched = lists.Touched(changed.words.astype(np.int32), nothing, changed.less.astype(np.float32), nothing)
        try:
            return lists.bounds(listed, touched, np.ones(len(self._part.rows), np.float32), 0.0, 1)[0]
        except ValueError as error:
            raise damaged_part(self._part, error) from None
