"""The lists of some documents - all of a collection, or a segment of it - by stem, and the documents behind them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from wordferry.base.arrays import BoolArray, Float64Array, Int32Array, Int64Array
from wordferry.base.cancel import check_cancelled
from wordferry.find.forms import Forms
from wordferry.kernels.native_lists import (
    Postings,
    QueryWords,
    Saturation,
    WordBags,
    WordLists,
    nearest_among,
    postings,
)

_CHECK_EVERY = 1024


class Counted(NamedTuple):
    """Bags of words: CSR over the numbers of :class:`Forms`."""

    indptr: Int64Array
    words: Int32Array
    counts: Int32Array

    def select(self, rows: Int64Array) -> Counted:
        """Some rows, in the order given."""
        sizes = np.diff(self.indptr)[rows]
        indptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        places = np.repeat(self.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Counted(indptr, self.words[places], self.counts[places])


class Scored(NamedTuple):
    """The best rows by their own words, and how much was looked at, where that is counted."""

    rows: Int64Array
    scores: Float64Array
    visited: int = 0
    """Entries of lists."""
    evaluated: int = 0
    """Documents whose score was computed."""


class Around(NamedTuple):
    """What is known of some rows, for the lift."""

    places: Int64Array
    """Of each row its nearest others, as places among these rows; -1 where there are fewer."""
    nearness: Float64Array
    """How near they are, 0 for not at all."""
    complete: BoolArray
    """Whether a row has every stem that was asked for."""


class Documents(Protocol):
    """The documents of a collection, as a search asks them; stems are given by their numbers."""

    def __len__(self) -> int: ...

    def df(self, alive: BoolArray | None) -> Int64Array:
        """In how many documents, or living documents, each stem stands."""

    def tokens(self, alive: BoolArray | None) -> int:
        """The tokens of all documents, or of the living ones."""

    def best(self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None) -> Scored:
        """The best k documents with a score above 0, by (score falling, row rising)."""

    def around(self, rows: Int64Array, m: int, idf: Float64Array, wanted: Int32Array) -> Around:
        """The m nearest of some rows to each of them, by the cosine of (1 + ln count) idf of their stems.

        ``wanted`` are the stems that a complete row has, rising.
        """

    def bags(self, rows: Int64Array) -> Counted:
        """The bags of some rows, in the order given."""


def stems_among(bags: Counted, group_of: Int32Array, groups: int) -> Int64Array:
    """In how many of some bags each stem stands."""
    row = np.repeat(np.arange(len(bags.indptr) - 1), np.diff(bags.indptr))
    distinct = np.unique(row * np.int64(max(groups, 1)) + group_of[bags.words])
    return np.bincount(distinct % max(groups, 1), minlength=groups).astype(np.int64)


def around(bags: Counted, group_of: Int32Array, m: int, idf: Float64Array, wanted: Int32Array) -> Around:
    """The m nearest of some bags to each of them, and which of them have all wanted stems, which rise."""
    stems = group_of[bags.words]
    found = nearest_among(bags.indptr, stems, bags.counts, idf[stems], len(idf), m)
    return Around(*found, have_all(bags.indptr, stems, wanted))


def have_all(indptr: Int64Array, stems: Int32Array, wanted: Int32Array) -> BoolArray:
    """Which rows, given by their stems, have every one of some stems, which rise."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ours = np.isin(stems, wanted)
    found = np.unique(rows[ours] * max(len(wanted), 1) + np.searchsorted(wanted, stems[ours]))
    counts = np.bincount(found // max(len(wanted), 1), minlength=len(indptr) - 1)
    result: BoolArray = counts == len(wanted)
    return result


@dataclass(frozen=True, eq=False)
class Lists:
    """Documents turned round: one list for each stem of the documents that have it."""

    lengths: Int32Array
    """Tokens of each document."""
    postings: Postings
    counted: Counted
    group_of: Int32Array
    """The stem of each word."""

    @classmethod
    def build(cls, counted: Counted, forms: Forms) -> Lists:
        """Lists of counted documents."""
        sums = np.concatenate(([0], np.cumsum(counted.counts, dtype=np.int64)))
        lengths = np.diff(sums[counted.indptr]).astype(np.int32)
        group_of, form_of = forms.arrays
        groups = int(group_of.max()) + 1 if len(group_of) else 0
        turned = postings(WordBags(*counted, group_of, form_of), groups)
        return cls(lengths, turned, counted, group_of)

    @classmethod
    def count(cls, documents: Iterable[Sequence[str]], forms: Forms) -> Lists:
        """Lists of token lists; words that are new are added to ``forms``."""
        words, counts, indptr = array("i"), array("i"), array("q", [0])
        for number, tokens in enumerate(documents):
            if number % _CHECK_EVERY == 0:
                check_cancelled()
            seen = Counter(tokens)
            words.extend(forms.numbers(list(seen)))
            counts.extend(seen.values())
            indptr.append(len(words))
        counted = Counted(
            np.frombuffer(indptr, dtype=np.int64),
            np.frombuffer(words, dtype=np.int32),
            np.frombuffer(counts, dtype=np.int32),
        )
        return cls.build(counted, forms)

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def view(self) -> WordLists:
        """The lists as the kernels take them."""
        return WordLists(self.postings, self.lengths)

    def df(self, alive: BoolArray | None) -> Int64Array:
        """In how many documents, or living documents, each stem stands."""
        df = self.postings.df
        if alive is None:
            return df
        return df - stems_among(self.bags(np.flatnonzero(~alive)), self.group_of, len(df))

    def tokens(self, alive: BoolArray | None) -> int:
        """The tokens of all documents, or of the living ones."""
        return int(self.lengths.sum() if alive is None else self.lengths[alive].sum())

    def best(self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None) -> Scored:
        """The best k documents with a score above 0, by (score falling, row rising)."""
        return Scored(*self.view.best(query, saturation, k, allowed))

    def around(self, rows: Int64Array, m: int, idf: Float64Array, wanted: Int32Array) -> Around:
        """The m nearest of some rows to each of them, and which of them have all wanted stems."""
        return around(self.bags(rows), self.group_of, m, idf, wanted)

    def bags(self, rows: Int64Array) -> Counted:
        """The bags of some rows, in the order given."""
        return self.counted.select(rows)
