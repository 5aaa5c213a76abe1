"""The typed door to the kernels over inverted lists by word, as an index stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Int32Array, Int64Array

BLOCK = 1 << 16
"""Rows of a block: a row is stored in 16 bits, and what is summed up over a block stays in the cache."""


@dataclass(frozen=True)
class Lists:
    """For each word the rows that have it and how often, by blocks of rows."""

    blocks: Int64Array
    """Where the words of each block begin, and where the last ones end."""
    words: Int32Array
    """The words of each block, rising."""
    starts: Int64Array
    """Where the list of each of them begins, and where the last one ends."""
    rows: npt.NDArray[np.uint16]
    """Rows within the block, rising within a list."""
    counts: npt.NDArray[Any]
    """uint8, uint16 or int32: the narrowest that holds the largest count."""

    @cached_property
    def view(self) -> _native.StoredWordLists:
        """The lists as kernels take them."""
        return _native.StoredWordLists(self.blocks, self.words, self.starts, self.rows, self.counts)


@dataclass(frozen=True)
class Touched:
    """The words that a query has or is related to, rising."""

    words: Int32Array
    near: Float32Array
    """The cost of the nearest word of the query that the word may move to."""
    gain: Float32Array
    """How much less that is than the cost of a word that is not touched."""
    common: Float32Array
    """The mass that the query has of this very word and that may stay; else 0."""


def build(indptr: Int64Array, words: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Lists:
    """The lists of bags of words, worked through a block of rows at a time."""
    rows = len(indptr) - 1
    blocks, names, sizes = [0], [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    out_rows, out_counts = np.empty(len(words), np.uint16), np.empty(len(words), counts.dtype)
    for first in range(0, rows, BLOCK):
        ends = indptr[first : first + BLOCK + 1].astype(np.int64)
        span = slice(int(ends[0]), int(ends[-1]))
        often = np.bincount(words[span])
        places = np.cumsum(often) - often
        _native.place_lists(ends, words[span], counts[span], places, out_rows[span], out_counts[span])
        found = np.flatnonzero(often)
        blocks.append(blocks[-1] + len(found))
        names.append(found.astype(np.int32))
        sizes.append(often[found])
    return Lists(
        np.array(blocks, dtype=np.int64),
        np.concatenate(names),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes))]),
        out_rows,
        out_counts,
    )


def bounds(lists: Lists, touched: Touched, totals: Float32Array, rest: float, threads: int) -> tuple[Float32Array, int]:
    """For each row ``rest`` less what the touched words save, a share of ``totals``; and how many entries were visited.

    That is what moving the document onto the query costs when a word that is not touched costs ``rest``. Rows without
    words are at infinity. ValueError when the lists lead outside of themselves, which only damaged ones do.
    """
    out = np.empty(len(totals), dtype=np.float32)
    visited = _native.list_bounds(
        lists.view,
        touched.words,
        touched.near,
        touched.gain,
        touched.common,
        totals,
        rest,
        out,
        threads,
    )
    return out, visited


class Stored:
    """Documents as an index stores them, by row and by word, as the kernels take them."""

    def __init__(
        self, lists: Lists, bags: tuple[Int64Array, npt.NDArray[Any], npt.NDArray[Any]], totals: Float32Array
    ) -> None:
        self.documents = len(totals)
        self.native = _native.ListPart(lists.blocks, lists.words, lists.starts, lists.rows, lists.counts, *bags, totals)


@dataclass(frozen=True)
class Found:
    """The nearest rows by (distance, row), and how much was looked at."""

    rows: Int64Array
    distances: Float32Array
    visited: int
    """Entries of lists."""
    evaluated: int
    """Documents that were compared in full."""


class ListQuery:
    """A query of Rel-RWMD against stored documents; words are numbered as the vectors are."""

    def __init__(
        self,
        words: Int32Array,
        masses: Float32Array,
        edges: tuple[Int32Array, Int32Array, Float32Array],
        c_max: float,
        overlap: str,
        vocabulary: int,
    ) -> None:
        self.native = _native.ListQuery(words, masses, *edges, c_max, _native.Overlap[overlap], vocabulary)

    def nearest(self, parts: list[Stored], allowed: BoolArray | None, slack: float, k: int, threads: int) -> Found:
        """The k nearest of the allowed rows. ValueError when the arrays lead outside, which only damaged ones do."""
        rows, distances = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float32)
        mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
        own = [part.native for part in parts]
        count, visited, evaluated = self.native.nearest(own, mask, slack, threads, rows, distances)
        return Found(rows[:count], distances[:count], visited, evaluated)

    def distances(self, parts: list[Stored], rows: Int64Array) -> Float32Array:
        """The distances of some rows."""
        out = np.empty(len(rows), dtype=np.float32)
        self.native.distances([part.native for part in parts], rows, out)
        return out


PANEL = 16
"""At most so many queries walk the lists together."""


def nearest_many(
    queries: Sequence[ListQuery], parts: list[Stored], allowed: BoolArray | None, slack: float, k: int, threads: int
) -> tuple[Int64Array, Float32Array, int, int]:
    """The k nearest rows to each of a panel of queries, (-1, inf) where there is none; entries and documents seen."""
    rows = np.full((len(queries), k), -1, dtype=np.int64)
    distances = np.full((len(queries), k), np.inf, dtype=np.float32)
    mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
    asked, own = [query.native for query in queries], [part.native for part in parts]
    visited, evaluated = _native.nearest_many(asked, own, mask, slack, threads, rows, distances)
    return rows, distances, visited, evaluated


@dataclass(frozen=True)
class QueryForms:
    """The forms of the words of a query, those of one word after the other."""

    slots: Int32Array
    """Which word of the query."""
    words: Int32Array
    is_other: npt.NDArray[np.uint8]
    """1 for words without a vector."""
    is_exact: npt.NDArray[np.uint8]
    """1 for the very form that was asked for."""
    factors: npt.NDArray[np.float64]
    """One for each word of the query: its part that no document changes."""


class WordLists:
    """Lists of words with and without a vector, searched by stems that are put together while a query runs."""

    def __init__(self, known: Lists, others: Lists, lengths: Int32Array) -> None:
        self._known, self._others, self._lengths = known.view, others.view, lengths

    def best(
        self, forms: QueryForms, saturation: tuple[float, float, float], k: int, allowed: BoolArray | None
    ) -> tuple[Int64Array, npt.NDArray[np.float64]]:
        """The best k rows with a score above 0, by (score falling, row rising)."""
        rows, scores = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float64)
        mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
        count = _native.best_by_words(
            self._known,
            self._others,
            forms.slots,
            forms.words,
            forms.is_other,
            forms.is_exact,
            forms.factors,
            *saturation,
            self._lengths,
            mask,
            rows,
            scores,
        )
        return rows[:count], scores[:count]

    def stem_frequencies(self, known: Int32Array, others: Int32Array, groups: int) -> Int64Array:
        """In how many rows each stem stands; ``known`` and ``others`` give the stem of each word, or -1."""
        df = np.zeros(groups, dtype=np.int64)
        _native.stem_frequencies(self._known, self._others, known, others, df)
        return df
