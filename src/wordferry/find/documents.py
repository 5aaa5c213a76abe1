"""Documents as word search takes them: in memory, or the segments of an index; and the formulas over their stems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from wordferry.base.arrays import BoolArray, Counts, Float32Array, Float64Array, Int32Array, Int64Array, distinct
from wordferry.encoders.codes import CodedQuery, Codes
from wordferry.kernels import words as kernels
from wordferry.kernels.words import BestRows, FormQuery, WordDocuments


class FormPlace(NamedTuple):
    """Where a word of a query stands: its stem, and its number (-1 when no document has that form)."""

    group: int
    form: int


class Surroundings(NamedTuple):
    """What is known of some rows, for the lift."""

    places: Int64Array
    """Of each row its nearest others, as places among these rows; -1 where there are fewer."""
    nearness: Float64Array
    """How near they are, 0 for not at all."""
    complete: BoolArray
    """Whether a row has every stem that was asked for."""


class Words(Protocol):
    """The words of a collection by their numbers, and their stems."""

    @property
    def group_of(self) -> Int32Array:
        """The stem of each word."""

    @property
    def stop(self) -> Int64Array:
        """The stop words."""

    def words_of(self, group: int) -> Int32Array:
        """The words of a stem, ascending."""

    def place(self, word: str) -> FormPlace | None:
        """The stem of a word of a query, and its number; None when no document has any form of it."""

    def word(self, number: int) -> str:
        """A word by its number, which at least those have that share a stem with a word that was looked up."""


class DocumentsPart(NamedTuple):
    """Some documents, by row and by word."""

    rows: Counts
    lengths: Float32Array
    """Tokens of each document that are no stop words."""
    native: WordDocuments
    groups: Int32Array
    """The stems that stand in these documents."""
    df: Int32Array
    """Document frequency of each of them, deleted documents included."""
    codes: Codes | None = None
    """The vectors of these documents, where an encoder or a caller gave them."""


class WordCollection:
    """The documents of some parts, one after the other.

    What asks kernels raises ValueError where arrays lead outside of themselves, which only damaged ones do.
    """

    def __init__(self, parts: Sequence[DocumentsPart], words: Words, stems: int) -> None:
        self.parts, self.words, self.stems = tuple(parts), words, stems
        self._natives = [part.native for part in parts]
        self._starts = np.concatenate(([0], np.cumsum([len(part.lengths) for part in parts]))).astype(np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def df(self, alive: BoolArray | None) -> Int64Array:
        """Document frequency of each stem, over all documents or the living ones."""
        total = np.zeros(self.stems, dtype=np.int64)
        for part in self.parts:
            total[part.groups] += part.df
        if alive is not None:
            total -= stems_among(self.bags(np.flatnonzero(~alive)), self.words.group_of, self.stems)
        return total

    def tokens(self, alive: BoolArray | None) -> int:
        """The tokens of all documents, or of the living ones."""
        lengths = np.concatenate([np.zeros(0), *(part.lengths for part in self.parts)])
        return int(lengths.sum(dtype=np.float64) if alive is None else lengths[alive].sum(dtype=np.float64))

    @property
    def codes(self) -> list[Codes]:
        """The vectors of all parts; none where not every part has them."""
        found = [part.codes for part in self.parts if part.codes is not None]
        return found if len(found) == len(self.parts) else []

    def nearest(
        self, query: CodedQuery, k: int, masks: tuple[BoolArray | None, BoolArray | None]
    ) -> kernels.NearestByMeaning:
        """The best k rows by meaning; ``masks`` are those of :func:`wordferry.kernels.words.nearest_by_meaning`."""
        return kernels.nearest_by_meaning([one.native for one in self.codes], (query.levels, query.scale), k, masks)

    def cosines(self, query: CodedQuery, rows: Int64Array) -> Float64Array:
        """The cosine of each of some rows and a query; NaN for a row without a vector."""
        number = np.searchsorted(self._starts, rows, side="right") - 1
        found = np.full(len(rows), np.nan)
        for p, codes in enumerate(self.codes):
            inside = np.flatnonzero(number == p)
            own = codes.select(rows[inside] - self._starts[p])
            found[inside] = np.where(own.scales > 0, own.cosines(query), np.nan)
        return found

    def best(self, query: FormQuery, k: int, allowed: BoolArray | None) -> BestRows:
        """The best k rows with a score above 0, by (score descending, row ascending)."""
        return kernels.best(self._natives, query, k, allowed)

    def scores(self, query: FormQuery, rows: Int64Array) -> Float64Array:
        """The score of each of some rows, 0 for one without a word of the query."""
        return kernels.scores(self._natives, query, rows)

    def around(self, idf: Float64Array, wanted: Int32Array, rows: Int64Array, m: int) -> Surroundings:
        """The m nearest of some rows to each of them by the cosine of (1 + ln count) idf, over stems.

        ``wanted`` are the stems that a complete row has, ascending.
        """
        return Surroundings(*kernels.near(self._natives, self.words.group_of, idf, rows, wanted, m))

    def length(self, row: int) -> int:
        """The tokens of a document that are no stop words."""
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return int(self.parts[part].lengths[row - self._starts[part]])

    def bags(self, rows: Int64Array) -> Counts:
        """The bags of some rows of any parts, in the order given."""
        number = np.searchsorted(self._starts, rows, side="right") - 1
        own = [part.rows.select(rows[number == p] - self._starts[p]) for p, part in enumerate(self.parts)]
        return Counts.join(own).select(np.argsort(np.argsort(number, kind="stable"), kind="stable"))


def stems_among(bags: Counts, group_of: Int32Array, groups: int) -> Int64Array:
    """In how many of some bags each stem stands."""
    row = np.repeat(np.arange(len(bags.indptr) - 1), np.diff(bags.indptr))
    once = distinct(row * np.int64(max(groups, 1)) + group_of[bags.words])
    return np.bincount(once % max(groups, 1), minlength=groups).astype(np.int64)


def have_all(indptr: Int64Array, stems: Int32Array, wanted: Int32Array) -> BoolArray:
    """Which rows, given by their stems, have every one of some stems, which ascend."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    ours = np.isin(stems, wanted)
    found = distinct(rows[ours] * max(len(wanted), 1) + np.searchsorted(wanted, stems[ours]))
    counts = np.bincount(found // max(len(wanted), 1), minlength=len(indptr) - 1)
    result: BoolArray = counts == len(wanted)
    return result
