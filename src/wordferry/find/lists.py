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
from wordferry.kernels.native_lists import Postings, QueryWords, Saturation, WordBags, WordLists, postings

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


class Source(Protocol):
    """Where the bags of words are: in memory, or in files that are read when they are asked for."""

    def select(self, rows: Int64Array) -> Counted:
        """Some rows, in the order given."""


class Part(Protocol):
    """Some documents of a collection, as a search asks them."""

    @property
    def lengths(self) -> Int32Array:
        """Tokens of each document."""

    @property
    def source(self) -> Source:
        """The documents themselves."""

    @property
    def groups(self) -> int:
        """How many stems are known here; later ones stand in no document."""

    @property
    def df(self) -> Int64Array:
        """In how many documents each stem stands."""

    def __len__(self) -> int: ...

    def best(
        self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None = None
    ) -> tuple[Int64Array, Float64Array]:
        """The best k documents with a score above 0, by (score falling, row rising)."""


def stems_among(source: Source, rows: Int64Array, group_of: Int32Array, groups: int) -> Int64Array:
    """In how many of some rows each stem stands."""
    indptr, words, _ = source.select(rows)
    row = np.repeat(np.arange(len(rows)), np.diff(indptr))
    distinct = np.unique(row * np.int64(max(groups, 1)) + group_of[words])
    return np.bincount(distinct % max(groups, 1), minlength=groups).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Lists:
    """Documents turned round: one list for each stem of the documents that have it."""

    lengths: Int32Array
    """Tokens of each document."""
    postings: Postings
    source: Source

    @classmethod
    def build(cls, counted: Counted, forms: Forms, source: Source | None = None) -> Lists:
        """Lists of counted documents; ``source`` gives single ones later, if ``counted`` should not be kept."""
        sums = np.concatenate(([0], np.cumsum(counted.counts, dtype=np.int64)))
        lengths = np.diff(sums[counted.indptr]).astype(np.int32)
        group_of, form_of = forms.arrays
        groups = int(group_of.max()) + 1 if len(group_of) else 0
        turned = postings(WordBags(*counted, group_of, form_of), groups)
        return cls(lengths, turned, counted if source is None else source)

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

    @property
    def groups(self) -> int:
        """How many stems there were when the lists were made; later ones stand in no document here."""
        return len(self.postings.df)

    @cached_property
    def view(self) -> WordLists:
        """The lists as the kernels take them."""
        return WordLists(self.postings, self.lengths)

    @property
    def df(self) -> Int64Array:
        """In how many documents each stem stands."""
        return self.postings.df

    def best(
        self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None = None
    ) -> tuple[Int64Array, Float64Array]:
        """The best k documents with a score above 0, by (score falling, row rising)."""
        return self.view.best(query, saturation, k, allowed)
