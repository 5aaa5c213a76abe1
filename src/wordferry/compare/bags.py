"""A prepared side: documents as masses over compact word ids, with everything derived from them made once and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from wordferry.base.arrays import (
    BoolArray,
    Csr,
    Float32Array,
    Float64Array,
    Int32Array,
    Int64Array,
)
from wordferry.base.lazy import sparse as sp
from wordferry.compare.frame import Frame
from wordferry.compare.masses import (
    gathered_columns,
    joined,
    mass_blocks,
    places_of,
    renumbered,
    scaled_masses,
    summable,
    with_data,
)
from wordferry.kernels import passes
from wordferry.kernels.native_transport import WholeView, whole_view
from wordferry.texts.weights import Weighting

_Made = TypeVar("_Made")
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
    documents: int = -1
    """How many documents the caller passed, kept or not; -1 where that is how many rows there are."""
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
        whole = all(counts is not None for _, _, _, counts in made)
        indptr = np.zeros(matrix.shape[0] + 1, dtype=np.int64)
        np.cumsum(joined([lengths for lengths, _, _, _ in made], np.int64), out=indptr[1:])
        indices = joined([ids for _, ids, _, _ in made], np.int32)
        shares = joined([some for _, _, some, _ in made], np.float32)
        counts = joined([some for _, _, _, some in made], np.int64) if whole else None
        masses = Csr(indptr, indices, shares, (matrix.shape[0], len(frame.words)))
        return cls(masses, counts, rows, unknown=frame.unknown, columns=None if frame.base is None else frame.words)

    def among(self, documents: int) -> Bags:
        """These rows as what was kept of ``documents`` documents that were passed."""
        return replace(self, documents=documents)

    @property
    def passed(self) -> int:
        """How many documents the caller passed."""
        return len(self) if self.documents < 0 else self.documents

    def __len__(self) -> int:
        return self.masses.shape[0]

    @property
    def nnz(self) -> int:
        """Stored (document, word) pairs."""
        return self.masses.nnz

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
        lengths = np.diff(self.masses.indptr)[chosen]
        indptr = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        entries = np.arange(indptr[-1]) + np.repeat(self.masses.indptr[chosen] - indptr[:-1], lengths)
        shape = (len(chosen), self.masses.shape[1])
        masses = Csr(indptr, self.masses.indices[entries], self.masses.data[entries], shape)
        counts = None if self.counts is None else self.counts[entries]
        return Bags(masses, counts, self.rows[chosen], self.passed, self.unknown, self.columns)

    @cached_property
    def in_order(self) -> bool:
        """True when the rows are all the documents that the caller passed, in their order."""
        return bool(np.array_equal(self.rows, np.arange(len(self))))

    @cached_property
    def empty(self) -> Int64Array:
        """The rows without a word."""
        return np.flatnonzero(np.diff(self.masses.indptr) == 0)

    @cached_property
    def view(self) -> passes.View:
        """The masses as kernels take them; every index is checked here, once."""
        return passes.view(self.masses)

    @cached_property
    def frequencies(self) -> Int64Array:
        """In how many documents each word stands."""
        return np.bincount(self.masses.indices, minlength=self.masses.shape[1]).astype(np.int64, copy=False)

    @cached_property
    def words(self) -> Int64Array:
        """The words that stand in some document, rising."""
        return np.flatnonzero(self.frequencies)

    @cached_property
    def places(self) -> Int32Array:
        """The place of each word among :attr:`words`, -1 for the others."""
        return places_of(self.words, self.masses.shape[1])

    @cached_property
    def _known_words(self) -> Int64Array:
        """Those of :attr:`words` that have a vector: all of them where only a query has other words."""
        return self.words if self.unknown is None else self.words[~self.unknown[self.words]]

    @cached_property
    def known_places(self) -> Int32Array:
        """The place of each word among those of :attr:`words` that have a vector, the next place for all others."""
        known = self._known_words
        places = np.full(self.masses.shape[1], len(known), np.int32)
        places[known] = np.arange(len(known), dtype=np.int32)
        return places

    @cached_property
    def ordered(self) -> Numbered:
        """The documents over the words that stand in them, in the order of their columns: those with a vector first.

        Sums that go by these numbers are the same whatever other documents there are. Masses of words without a vector
        are rounded so that any sum of them is exact.
        """
        words = self.words if self.columns is None else self.words[np.argsort(self.columns[self.words])]
        local = places_of(words, self.masses.shape[1])
        bags, known = renumbered(self.masses, local, len(words)), len(words)
        if self.unknown is not None:
            known -= int(self.unknown[words].sum())
            bags = with_data(bags, np.where(bags.indices < known, bags.data, summable(bags.data)))
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
        return None if some is None else passes.view(with_data(some, summable(some.data)))

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
        return None if self.counts is None else self._rising(with_data(self.masses, self.counts))

    @cached_property
    def scaled(self) -> Csr:
        """Masses as whole numbers that sum to 2**52 in each row; compact ids rise."""
        bags = self._rising(self.masses)
        return with_data(bags, scaled_masses(bags.indptr, bags.data))

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

    def vectors(self, frame: Frame) -> Float32Array:
        """The vectors of :attr:`words`; made for the first frame that asks, and kept."""
        return self._once("vectors", lambda: frame.vectors_of(self.words))

    def known_vectors(self, frame: Frame) -> Float32Array:
        """The vectors of those of :attr:`words` that have one, and a row of zeros for all others."""

        def make() -> Float32Array:
            some = frame.vectors_of(self._known_words)
            return np.concatenate([some, np.zeros((1, some.shape[1]), dtype=np.float32)])

        return self._once("known", make)

    def ordered_vectors(self, frame: Frame) -> tuple[Float32Array, Float32Array]:
        """The vectors of those of :attr:`ordered`'s words that have one, and their squared lengths."""

        def make() -> tuple[Float32Array, Float32Array]:
            vectors = frame.vectors_of(self.ordered.words[: self.ordered.known])
            return vectors, passes.squares(vectors)

        return self._once("ordered", make)

    def centroids(self, frame: Frame) -> tuple[Float64Array, Float64Array]:
        """The mean vector of each document and its squared length, in float64: centroids lie close together."""
        if self.cut is not None:
            whole, start, stop = self.cut
            means, squares = whole.centroids(frame)
            return means[start:stop], squares[start:stop]

        def make() -> tuple[Float64Array, Float64Array]:
            bags, vectors = self.masses, self.vectors(frame)
            values, places = bags.data.astype(np.float64), self.places[bags.indices]
            matrix = sp.csr_array((values, places, bags.indptr), shape=(bags.shape[0], len(vectors)))
            means = np.ascontiguousarray(matrix @ vectors)
            return means, np.einsum("ij,ij->i", means, means)

        return self._once("centroids", make)

    def _once(self, name: str, make: Callable[[], _Made]) -> _Made:
        """What ``make`` gives the first time; two threads that ask at once may both make it, and get the same."""
        kept = self.__dict__.setdefault("_kept", {})
        if name not in kept:
            kept[name] = make()
        found: _Made = kept[name]
        return found
