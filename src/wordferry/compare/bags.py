"""A prepared side: documents as masses over compact word ids, with everything derived from them made once and kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordferry.base.arrays import (
    BoolArray,
    Csr,
    Float32Array,
    Float64Array,
    FloatArray,
    Int32Array,
    Int64Array,
    check_row_sums,
    entries_of,
)
from wordferry.base.lazy import sparse as sp
from wordferry.compare.frame import Frame
from wordferry.kernels import passes
from wordferry.kernels.passes import WholeView, whole_view
from wordferry.texts.weights import Weighting

SCALE = 2**52
"""The whole mass that weights which are not whole numbers are scaled to."""
_LARGEST_COUNT = 2**31
_BLOCK = 1 << 20
"""Stored weights that are made into masses at a time, so that what is needed on the way stays small."""
_FINEST = 2**24
"""Multiples of 1 / 2**24, up to 1, add up in float32 without rounding."""
_FEW_WORDS = 16
"""Fewer words than this part of a collection's are looked up in lists of documents, which are made once and kept."""


@dataclass(frozen=True)
class Numbered:
    """Documents over numbers of their own for the words that stand in them."""

    words: Int64Array
    """The compact id of each number."""
    local: Int32Array
    """The number of each compact id, or -1."""
    bags: Csr
    known: int = -1
    """How many of the words have a vector; they come first. -1 means all."""

    @cached_property
    def view(self) -> passes.View:
        """The documents as kernels take them, checked once."""
        return passes.view(self.bags)

    @cached_property
    def by_word(self) -> Csr:
        """The documents turned over: one row per word, with the documents that it stands in and its masses there."""
        matrix = sp.csr_array((self.bags.data, self.bags.indices, self.bags.indptr), shape=self.bags.shape).T.tocsr()
        return Csr(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, matrix.shape)

    def over(self, words: Any) -> Csr:
        """The documents over some compact ids alone, which are numbered in the order given; all others are left out.

        For a few words of a large collection only the documents that they stand in are touched.
        """
        own = self.number_of(words)
        if len(words) * _FEW_WORDS > len(self.words):
            local = np.full(len(self.words), -1, dtype=np.int32)
            local[own[own >= 0]] = np.flatnonzero(own >= 0)
            return renumbered(self.bags, local, len(words))
        return gathered_columns(self.by_word, own)

    def number_of(self, words: Any) -> Int32Array:
        """The numbers of some compact ids, -1 for words that stand in no document."""
        known = np.asarray(words) < len(self.local)
        result: Int32Array = np.where(known, self.local[np.where(known, words, 0)], -1).astype(np.int32)
        return result


@dataclass(frozen=True, eq=False)
class Bags:
    """Documents ready to be compared: frozen arrays, and what is derived from them, each thing made once.

    The word ids are those of one frame and of all its extensions, which keep the ids that exist. A slice takes what
    it can from what it was cut out of.
    """

    masses: Csr
    """float32 shares of each document, its words in the order of their columns, which sums go by: a distance is the
    same whatever else is compared. Rows sum to 1, an empty row is an empty document."""
    counts: Int64Array | None
    """The weights behind the masses, one for each, where all of them are whole numbers; else None."""
    rows: Int64Array
    """The number of each row among the documents that the caller passed."""
    passed: int
    """How many documents the caller passed, kept or not."""
    unknown: BoolArray | None = None
    """Which compact ids are words without a vector; None when no such word is in play."""
    columns: Int64Array | None = None
    """The column of each compact id; None where compact ids rise as columns do."""
    cut: tuple[Bags, int, int] | None = None
    """What this is a slice of, and from where to where."""

    @classmethod
    def of(
        cls,
        matrix: sp.csr_array,
        rows: Int64Array,
        frame: Frame,
        weights: Weighting | None = None,
        name: str = "X",
    ) -> Bags:
        """Rows of weights (after ``weights``, where given) scaled to sum 1, over the ids of the frame.

        Worked through in blocks of rows: beside the result, a few megabytes are needed.
        """
        made = list(mass_blocks(matrix, frame, weights, name))
        lengths, indices, shares = (np.concatenate([block[part] for block in made]) for part in range(3))
        whole = all(block[3] is not None for block in made)
        counts = np.concatenate([block[3] for block in made]) if whole else None
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        masses, columns = Csr(indptr, indices, shares, (len(rows), len(frame.words))), frame.words
        return cls(masses, counts, rows, len(rows), frame.unknown, None if frame.base is None else columns)

    def among(self, documents: int) -> Bags:
        """These rows as what was kept of ``documents`` documents that were passed."""
        return replace(self, passed=documents)

    def __len__(self) -> int:
        return self.masses.shape[0]

    def slice(self, start: int, stop: int) -> Bags:
        """The rows ``start`` to ``stop``, without copying; all of them are these very bags."""
        if start == 0 and stop == len(self):
            return self
        if self.cut is not None:
            whole, first, _ = self.cut
            return whole.slice(first + start, first + stop)
        masses = self.masses.rows(start, stop)
        low, high = self.masses.indptr[start], self.masses.indptr[stop]
        counts = None if self.counts is None else self.counts[low:high]
        return Bags(masses, counts, self.rows[start:stop], self.passed, self.unknown, self.columns, (self, start, stop))

    def take(self, chosen: Int64Array) -> Bags:
        """Some rows, in the order given, as a copy."""
        indptr, entries = entries_of(self.masses.indptr, chosen)
        shape = (len(chosen), self.masses.shape[1])
        masses = Csr(indptr, self.masses.indices[entries], self.masses.data[entries], shape)
        counts = None if self.counts is None else self.counts[entries]
        return Bags(masses, counts, self.rows[chosen], self.passed, self.unknown, self.columns)

    @cached_property
    def empty(self) -> Int64Array:
        """The rows without a word."""
        return np.flatnonzero(np.diff(self.masses.indptr) == 0)

    @cached_property
    def view(self) -> passes.View:
        """The masses as kernels take them; every index is checked here, once."""
        return passes.view(self.masses)

    @cached_property
    def words(self) -> Int64Array:
        """The words that stand in some document, rising."""
        return np.flatnonzero(np.bincount(self.masses.indices, minlength=self.masses.shape[1]))

    @cached_property
    def ordered(self) -> Numbered:
        """The documents over the words that stand in them, in the order of their columns: those with a vector first.

        Sums that go by these numbers are the same whatever other documents there are. Masses of words without a vector
        are rounded so that any sum of them is exact.
        """
        masses, size = self.masses, self.masses.shape[1]
        words = self.words if self.columns is None else self.words[np.argsort(self.columns[self.words])]
        local, known = places_of(words, size), len(words)
        if self.columns is None:  # words keep their order
            bags = Csr(masses.indptr, local[masses.indices], masses.data, (len(self), len(words)))
        else:
            bags = renumbered(masses, local, len(words))
        if self.unknown is not None:
            known -= int(self.unknown[words].sum())
            bags = replace(bags, data=np.where(bags.indices < known, bags.data, summable(bags.data)))
        return Numbered(words, local, bags, known)

    @cached_property
    def movable(self) -> Numbered:
        """:attr:`ordered` without the words that have no vector."""
        ordered = self.ordered
        if ordered.known == len(ordered.words):
            return ordered
        words = ordered.words[: ordered.known]
        local = places_of(words, self.masses.shape[1])
        return Numbered(words, local, renumbered(self.masses, local, len(words)), ordered.known)

    @cached_property
    def nearby(self) -> Numbered:
        """:attr:`ordered` for minima of distances: all words without a vector of a document are one, the last.

        They are equally far from every word, so for the nearest word it matters only whether there is one.
        """
        ordered = self.ordered
        if ordered.known == len(ordered.words):
            return ordered
        indices = np.minimum(ordered.bags.indices, ordered.known)
        rows = np.repeat(np.arange(len(self)), np.diff(ordered.bags.indptr))
        first = np.ones(len(indices), dtype=bool)
        first[1:] = (indices[1:] != indices[:-1]) | (rows[1:] != rows[:-1])
        lengths = np.bincount(rows[first], minlength=len(self))
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        bags = Csr(indptr, indices[first], ordered.bags.data[first], (len(self), ordered.known + 1))
        return Numbered(self.movable.words, self.movable.local, bags, ordered.known)

    @cached_property
    def unknown_masses(self) -> Csr | None:
        """The masses of words without a vector alone; None where there are none."""
        if self.unknown is None:
            return None
        bags = self.masses
        chosen = self.unknown[bags.indices]
        if not chosen.any():
            return None
        rows = np.repeat(np.arange(len(self)), np.diff(bags.indptr))[chosen]
        lengths = np.bincount(rows, minlength=len(self))
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Csr(indptr, bags.indices[chosen], bags.data[chosen], bags.shape)

    @cached_property
    def unknown_squares(self) -> Float64Array:
        """The squared length of each document's :attr:`unknown_masses`."""
        some = self.unknown_masses
        if some is None:
            return np.zeros(len(self))
        rows = np.repeat(np.arange(len(self)), np.diff(some.indptr))
        squares = some.data.astype(np.float64) ** 2
        return np.bincount(rows, weights=squares, minlength=len(self)).astype(np.float64, copy=False)

    @cached_property
    def unknown_columns(self) -> sp.csr_array:
        """:attr:`unknown_masses` by word, in float64."""
        return self.unknown_rows(slice(None)).T.tocsr()

    def unknown_rows(self, rows: Any) -> sp.csr_array:
        """:attr:`unknown_masses` of some documents, in float64."""
        some = self.unknown_masses
        if some is None:
            return sp.csr_array(self.masses.shape)[rows]
        return sp.csr_array((some.data.astype(np.float64), some.indices, some.indptr), shape=some.shape)[rows]

    @cached_property
    def unknown_view(self) -> passes.View | None:
        """:attr:`unknown_masses` as kernels take it, rounded so that any sum of them is exact."""
        some = self.unknown_masses
        return None if some is None else passes.view(replace(some, data=summable(some.data)))

    @cached_property
    def unit(self) -> Csr:
        """Rows of masses scaled to Euclidean length 1."""
        bags = self.masses
        rows = np.repeat(np.arange(bags.shape[0]), np.diff(bags.indptr))
        values = bags.data.astype(np.float64)
        lengths = np.sqrt(np.bincount(rows, weights=values * values, minlength=bags.shape[0]))
        values /= np.repeat(lengths, np.diff(bags.indptr))
        return replace(bags, data=values.astype(np.float32))

    @cached_property
    def unit_view(self) -> passes.View:
        """:attr:`unit` as kernels take it."""
        return passes.view(self.unit)

    @cached_property
    def rising_unit_view(self) -> passes.View:
        """Rows of length 1 with word ids in ascending order in each document."""
        return self.unit_view if self.columns is None else passes.view(self.rising_unit)

    @property
    def rising_unit(self) -> Csr:
        """:attr:`unit` with word ids in ascending order in each document."""
        return self._rising(self.unit)

    def _rising(self, bags: Csr) -> Csr:
        """Rows with word ids in ascending order in each document."""
        if self.columns is None:
            return bags
        order = np.lexsort((bags.indices, np.repeat(np.arange(len(self)), np.diff(bags.indptr))))
        return Csr(bags.indptr, bags.indices[order], bags.data[order], bags.shape)

    @cached_property
    def counted(self) -> Csr | None:
        """The whole weights as bags, where the weights are whole; compact ids rise."""
        counts: Any = self.counts
        return None if counts is None else self._rising(replace(self.masses, data=counts))

    @cached_property
    def scaled(self) -> Csr:
        """Masses as whole numbers that sum to 2**52 in each row; compact ids rise."""
        bags = self._rising(self.masses)
        whole: Any = scaled_masses(bags.indptr, bags.data)
        return replace(bags, data=whole)

    @cached_property
    def counted_view(self) -> WholeView:
        """:attr:`counted` as kernels take it, where there are counts."""
        assert self.counted is not None
        return whole_view(self.counted)

    @cached_property
    def scaled_view(self) -> WholeView:
        """:attr:`scaled` as kernels take it."""
        return whole_view(self.scaled)

    @cached_property
    def largest_sum(self) -> int:
        """The largest sum of the whole weights of one document."""
        assert self.counts is not None
        ends = np.concatenate(([0], np.cumsum(self.counts)))
        return int((ends[self.masses.indptr[1:]] - ends[self.masses.indptr[:-1]]).max(initial=0))

    def ordered_vectors(self, frame: Frame) -> tuple[Float32Array, Float32Array]:
        """The vectors of those of :attr:`ordered`'s words that have one, and their squared lengths.

        They are made for the first frame that asks, and kept; two threads that ask at once may both make them.
        """
        kept = self.__dict__
        if "_vectors" not in kept:
            vectors = frame.vectors_of(self.ordered.words[: self.ordered.known])
            kept["_vectors"] = vectors, passes.squares(vectors)
        found: tuple[Float32Array, Float32Array] = kept["_vectors"]
        return found

    def centroids(self, frame: Frame) -> tuple[Float64Array, Float64Array]:
        """The mean vector of each document and its squared length, in float64: centroids lie close together."""
        if self.cut is not None:
            whole, start, stop = self.cut
            means, squares = whole.centroids(frame)
            return means[start:stop], squares[start:stop]
        kept = self.__dict__
        if "_centroids" not in kept:
            bags, places = self.masses, places_of(self.words, self.masses.shape[1])
            values, shape = bags.data.astype(np.float64), (bags.shape[0], len(self.words))
            matrix = sp.csr_array((values, places[bags.indices], bags.indptr), shape=shape)
            means = np.ascontiguousarray(matrix @ frame.vectors_of(self.words))
            kept["_centroids"] = means, np.einsum("ij,ij->i", means, means)
        found: tuple[Float64Array, Float64Array] = kept["_centroids"]
        return found


def renumbered(documents: Csr, local: Int32Array, words: int) -> Csr:
    """Documents over other word ids: ``local`` of the old ones; words without one are left out."""
    ids = local[documents.indices]
    keep = ids >= 0
    counts = np.zeros(documents.shape[0] + 1, dtype=np.int64)
    rows = np.repeat(np.arange(documents.shape[0]), np.diff(documents.indptr))
    np.cumsum(np.bincount(rows[keep], minlength=documents.shape[0]), out=counts[1:])
    matrix = sp.csr_array((documents.data[keep], ids[keep], counts), shape=(documents.shape[0], words))
    matrix.sort_indices()
    return Csr(counts, matrix.indices.astype(np.int32), matrix.data, (documents.shape[0], words))


def gathered_columns(by_word: Csr, chosen: Int32Array) -> Csr:
    """Documents over the words ``chosen`` (rows of ``by_word``, -1 for none), numbered in that order."""
    rows = np.flatnonzero(chosen >= 0)
    ends, entries = entries_of(by_word.indptr, chosen[rows])
    documents = by_word.indices[entries]
    order = np.argsort(documents, kind="stable")  # words of one document stay in their order
    indptr = np.zeros(by_word.shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(documents, minlength=by_word.shape[1]), out=indptr[1:])
    words = np.repeat(rows, np.diff(ends))[order].astype(np.int32)
    return Csr(indptr, words, by_word.data[entries[order]], (by_word.shape[1], len(chosen)))


def places_of(words: Int64Array, size: int) -> Int32Array:
    """The place of each id among ``words``, -1 for the others."""
    places = np.full(size, -1, np.int32)
    places[words] = np.arange(len(words), dtype=np.int32)
    return places


def summable(shares: Float32Array) -> Float32Array:
    """Shares of a document, rounded so that their sum is the same in any order; none of them becomes 0."""
    whole = np.maximum(np.rint(shares * np.float32(_FINEST)), 1)
    result: Float32Array = (whole / np.float32(_FINEST)).astype(np.float32, copy=False)
    return result


def scaled_masses(indptr: Int64Array, data: FloatArray) -> Int64Array:
    """Weights of each row scaled to whole numbers that sum to 2**52.

    Shares are rounded down (a positive one to at least 1); what is then missing, or too much, goes to the largest
    weight of the row, of equal ones to the first.
    """
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    values = np.asarray(data, dtype=np.float64)
    sums = np.bincount(rows, weights=values, minlength=len(lengths))
    shares = np.divide(values, sums[rows], out=np.zeros_like(values), where=sums[rows] > 0)
    whole: Int64Array = np.maximum(np.floor(shares * SCALE), values > 0).astype(np.int64)
    filled = np.flatnonzero(sums > 0)
    starts = indptr[:-1][filled]
    if not len(filled):
        return whole
    used = slice(starts[0], None)  # reduceat takes everything up to the next start; empty rows hold nothing
    offsets = starts - starts[0]
    largest = np.repeat(np.maximum.reduceat(values[used], offsets), lengths[filled])
    at_largest = np.flatnonzero(values[used] == largest)
    first = at_largest[np.unique(rows[used][at_largest], return_index=True)[1]]
    whole[used][first] += SCALE - np.add.reduceat(whole[used], offsets)
    return whole


def mass_blocks(
    matrix: sp.csr_array, frame: Frame, weights: Weighting | None, name: str
) -> Iterator[tuple[Int64Array, Int32Array, Float32Array, Int64Array | None]]:
    """For blocks of rows, at least one: lengths, compact ids, shares, and the weights where all are whole numbers."""
    whole, start, stop = True, 0, -1
    while stop < matrix.shape[0]:
        stop = int(np.searchsorted(matrix.indptr, matrix.indptr[start] + _BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), matrix.shape[0])
        span = slice(int(matrix.indptr[start]), int(matrix.indptr[stop]))
        lengths = np.diff(matrix.indptr[start : stop + 1]).astype(np.int64)
        ids, values = frame.columns[matrix.indices[span]], matrix.data[span].astype(np.float64)
        rows = np.repeat(np.arange(stop - start), lengths)
        if weights is not None:
            values = weights.apply(values, matrix.indices[span], rows, stop - start)
            rows, ids, values = rows[values > 0], ids[values > 0], values[values > 0]
            lengths = np.bincount(rows, minlength=stop - start).astype(np.int64)
        sums = np.bincount(rows, weights=values, minlength=stop - start).astype(np.float64, copy=False)
        check_row_sums(sums, start, name=name)
        shares = values / np.repeat(sums, lengths)
        whole = whole and bool((values == np.floor(values)).all() and values.max(initial=0) < _LARGEST_COUNT)
        yield lengths, ids, shares.astype(np.float32), values.astype(np.int64) if whole else None
        start = stop
