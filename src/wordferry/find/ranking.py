"""Ranking by words: BM25 with stems over all documents, and the lift by neighbours among the best of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Counts, Float32Array, Float64Array, Int32Array, Int64Array, distinct
from wordferry.encoders.codes import CodedQuery, Codes
from wordferry.find.settings import Settings
from wordferry.kernels import words as kernels
from wordferry.kernels.words import PARTS, CosineSums, WordDocuments


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


class QueryWord(NamedTuple):
    """A word of a query that some document may have in one of its forms."""

    word: str
    times: int
    group: int
    form: int
    df: int
    idf: float


@dataclass(frozen=True, eq=False)
class Meaning:
    """The cosines of some documents with a query, beside those of the whole collection."""

    cosines: Float64Array
    """NaN for a document without a vector, whose score meaning does not change."""
    mean: float
    deviation: float
    """The standard deviation."""
    weight: float

    @property
    def parts(self) -> Float64Array:
        """What each document's score gains: nothing where its cosine is not above the mean."""
        if self.deviation == 0:
            return np.zeros(len(self.cosines))
        return self.weight * np.maximum(np.nan_to_num((self.cosines - self.mean) / self.deviation), 0.0)

    def select(self, places: Any) -> Meaning:
        """Some of the documents, in the order given."""
        return replace(self, cosines=self.cosines[places])


class Candidates(NamedTuple):
    """Rows that a query finds by words, by meaning or by both, with what their own scores are made of."""

    rows: Int64Array
    words: Float64Array
    """Of each row the score by its own words."""
    cosines: Float64Array | None = None
    """Of each row the cosine with the query, where meaning counts."""
    sums: CosineSums | None = None
    """Of the cosines of all living documents, with them."""
    visited: int = 0
    evaluated: int = 0

    def kept(self, count: int) -> Candidates:
        """The best ``count`` rows by words, joined with the best ``count`` by meaning; ties go to the earlier row."""
        order = np.lexsort((self.rows, -self.words))
        by_words = order[:count]
        if self.cosines is None:
            return self._replace(rows=self.rows[by_words], words=self.words[by_words])
        near = np.lexsort((self.rows, -np.nan_to_num(self.cosines, nan=-2.0)))[:count]
        some = np.union1d(by_words[self.words[by_words] > 0], near[~np.isnan(self.cosines[near])])
        return self._replace(rows=self.rows[some], words=self.words[some], cosines=self.cosines[some])

    def meaning(self, weight: float) -> Meaning | None:
        """What meaning adds to the score of each row; None where it does not count."""
        if self.cosines is None or self.sums is None:
            return None
        count, total, squares = self.sums
        spread = math.sqrt(count * squares - total * total) / count if count else 0.0
        return Meaning(self.cosines, total / count / PARTS if count else 0.0, spread / PARTS, weight)


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a query found: rows of the collection, best first, with everything their scores were made of."""

    rows: Int64Array
    scores: Float64Array
    query: tuple[QueryWord, ...]
    missing: tuple[str, ...]
    """Words of the query that no document has in any form."""
    settings: Settings
    own: Float64Array
    """Of each row the score by its own words and meaning."""
    lifted: BoolArray
    """Whether the neighbours of a row count in its score."""
    neighbours: Int64Array
    """Of each row the rows of its neighbours, -1 where there are fewer."""
    shares: Float64Array
    """Of each neighbour its weight; those of one row sum to 1."""
    neighbour_scores: Float64Array
    """Of each neighbour its own score."""
    meaning: Meaning | None = None
    """Of each row how near it is in meaning; None where words alone count."""
    visited: int = 0
    """Entries of lists that were looked at, where that is counted."""
    evaluated: int = 0
    """Documents whose score was computed."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Statistics:
    """What scores need to know of all documents together."""

    documents: int
    tokens: int
    df: Int64Array
    """Document frequency of each stem."""


class Ranker:
    """Ranks the documents of some parts, one after the other, by the words of queries; deleted ones count for nothing.

    ``stems`` is how many stems there are; ``together`` are the statistics of a larger collection that these documents
    are a shard of.
    """

    def __init__(
        self,
        parts: Sequence[DocumentsPart],
        forms: Words,
        stems: int,
        alive: BoolArray | None = None,
        together: Statistics | None = None,
    ) -> None:
        self.parts, self.forms, self.stems, self.together = tuple(parts), forms, stems, together
        self._natives = [part.native for part in parts]
        self._starts = np.concatenate(([0], np.cumsum([len(part.lengths) for part in parts]))).astype(np.int64)
        self.alive = None if alive is None or alive.all() else alive
        living = len(self) if self.alive is None else int(self.alive.sum())
        self.documents = living if together is None else together.documents

    def __len__(self) -> int:
        return int(self._starts[-1])

    @cached_property
    def df(self) -> Int64Array:
        """Document frequency of each stem, over the living documents."""
        if self.together is not None:
            return self.together.df
        total = np.zeros(self.stems, dtype=np.int64)
        for part in self.parts:
            total[part.groups] += part.df
        if self.alive is not None:
            total -= stems_among(self.bags(np.flatnonzero(~self.alive)), self.forms.group_of, self.stems)
        return total

    @cached_property
    def idf(self) -> Float64Array:
        """ln(1 + (N - df + 1/2) / (df + 1/2)) of each stem; 0 for stop words, which make no documents neighbours."""
        found: Float64Array = np.log1p((self.documents - self.df + 0.5) / (self.df + 0.5))
        stop = self.forms.group_of[self.forms.stop]
        found[stop[stop >= 0]] = 0
        return found

    @cached_property
    def mean_length(self) -> float:
        """The tokens of an average living document."""
        return self.tokens / self.documents if self.tokens else 1.0

    @cached_property
    def tokens(self) -> int:
        """The tokens of all living documents."""
        if self.together is not None:
            return self.together.tokens
        lengths = np.concatenate([np.zeros(0), *(part.lengths for part in self.parts)])
        return int((lengths if self.alive is None else lengths[self.alive]).sum(dtype=np.float64))

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

    def length(self, row: int) -> int:
        """The tokens of a document that are no stop words."""
        part = int(np.searchsorted(self._starts, row, side="right")) - 1
        return int(self.parts[part].lengths[row - self._starts[part]])

    def bags(self, rows: Int64Array) -> Counts:
        """The bags of some rows of any parts, in the order given."""
        number = np.searchsorted(self._starts, rows, side="right") - 1
        own = [part.rows.select(rows[number == p] - self._starts[p]) for p, part in enumerate(self.parts)]
        return Counts.join(own).select(np.argsort(np.argsort(number, kind="stable"), kind="stable"))

    def query(self, tokens: Sequence[str]) -> tuple[tuple[QueryWord, ...], tuple[str, ...]]:
        """The words of a query that stand in some document, and those that do not."""
        found, missing = [], []
        for word, times in Counter(tokens).items():
            place = self.forms.place(word)
            df = int(self.df[place.group]) if place is not None and place.group < len(self.df) else 0
            if place is None or df == 0:
                missing.append(word)
                continue
            idf = math.log(1 + (self.documents - df + 0.5) / (df + 0.5))
            found.append(QueryWord(word, times, place.group, place.form, df, idf))
        return tuple(found), tuple(missing)

    def saturation(self, settings: Settings) -> tuple[float, float]:
        """By how much a document slows the sum of what a word gives: at least, and for each of its tokens."""
        return settings.k1 * (1 - settings.b), settings.k1 * settings.b / self.mean_length

    def search(
        self,
        tokens: Sequence[str],
        k: int,
        settings: Settings,
        *,
        allowed: BoolArray | None = None,
        vector: CodedQuery | None = None,
    ) -> Ranking:
        """The best k rows for the words of a query, and for its meaning where a vector says it.

        Ties go to the earlier row. ``allowed`` leaves rows out (deleted ones always are). ValueError where arrays lead
        outside of themselves, which only damaged ones do.
        """
        query, missing = self.query(tokens)
        found = self.find(query, k, settings, allowed, vector)

        def around(rows: Int64Array, m: int) -> Surroundings:
            stems = stems_of(query)
            return Surroundings(*kernels.near(self._natives, self.forms.group_of, self.idf, rows, stems, m))

        return ranked(found, around, k, (query, missing, settings))

    def find(
        self,
        query: Sequence[QueryWord],
        k: int,
        settings: Settings,
        allowed: BoolArray | None,
        vector: CodedQuery | None,
    ) -> Candidates:
        """The rows that the best k may come from: the best by their own words, and the best by meaning."""
        mask = allowed
        if self.alive is not None and allowed is not self.alive:
            mask = self.alive if allowed is None else allowed & self.alive
        if settings.meaning == 0:
            vector = None
        wanted = min(settings.wanted(k, by_meaning=vector is not None), max(len(self), 1))
        forms = [self.forms.words_of(word.group) for word in query]
        slots = np.repeat(np.arange(len(forms), dtype=np.int32), [len(some) for some in forms])
        every = np.concatenate([np.zeros(0, dtype=np.int32), *forms])
        exact = (every == np.array([word.form for word in query], dtype=np.int32)[slots]).astype(np.uint8)
        factors = np.array([word.times * word.idf * (settings.k1 + 1) for word in query], dtype=np.float64)
        asked = kernels.FormQuery(slots, every, exact, factors, settings.stem, *self.saturation(settings))
        found, scores, *looked = kernels.best(self._natives, asked, mask, wanted)
        if vector is None:
            return Candidates(found, scores, None, None, *looked)
        near = self.nearest(vector, wanted, (self.alive, mask))
        more = np.setdiff1d(near.rows, found)
        rows = np.concatenate([found, more])
        words = np.concatenate([scores, kernels.scores(self._natives, asked, more)])
        return Candidates(rows, words, self.cosines(vector, rows), near.sums, *looked)


_NOBODY = Surroundings(np.zeros((0, 0), dtype=np.int64), np.zeros((0, 0)), np.zeros(0, dtype=bool))


def stems_of(query: Sequence[QueryWord]) -> Int32Array:
    """The stems of a query, ascending."""
    return np.array(sorted({word.group for word in query}), dtype=np.int32)


def ranked(
    found: Candidates,
    surroundings: Callable[[Int64Array, int], Surroundings],
    k: int,
    about: tuple[tuple[QueryWord, ...], tuple[str, ...], Settings],
) -> Ranking:
    """The ranking of rows that were found by words, which come best first, or by meaning: the best are lifted.

    ``surroundings(rows, m)`` finds m neighbours of each. A row that has every word of the query is never lowered.
    A candidate's new score is at least the smallest own score among them, so no row behind them overtakes one, and a
    longer list begins with the shorter one.
    """
    settings, rows, own = about[2], found.rows, found.words
    meaning = found.meaning(settings.meaning or 0.0)
    if meaning is not None:
        own = own + meaning.parts
        order = np.lexsort((rows, -own))[: np.count_nonzero(own > 0)]
        rows, own, meaning = rows[order], own[order], meaning.select(order)
    count = min(len(rows), settings.candidates) if settings.lifts else 0
    around = surroundings(rows[:count], settings.neighbours) if count > 1 else _NOBODY
    near, nearness, complete = (
        _longer(table, len(rows), nothing) for table, nothing in zip(around, (-1, 0, False), strict=True)
    )
    weights = nearness**settings.power * (near >= 0)
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    theirs = own[near] * (near >= 0)
    changed = (1 - settings.lift) * own + settings.lift * (shares * theirs).sum(axis=1)
    lifted = (total.ravel() > 0) & ~(complete & (changed < own))
    scores = np.where(lifted, changed, own)
    first = np.lexsort((rows[:count], -scores[:count]))
    order = np.concatenate((first, np.arange(count, len(rows))))[:k]
    return Ranking(
        rows[order],
        scores[order],
        *about,
        own=own[order],
        lifted=lifted[order],
        neighbours=np.where(near >= 0, rows[near], -1)[order],
        shares=shares[order],
        neighbour_scores=theirs[order],
        meaning=None if meaning is None else meaning.select(order),
        visited=found.visited,
        evaluated=found.evaluated,
    )


def _longer(table: npt.NDArray[Any], rows: int, value: int) -> npt.NDArray[Any]:
    """A table of as many rows as there are, those behind its own filled with ``value``."""
    more = rows - len(table)
    return np.concatenate([table, np.full((more, *table.shape[1:]), value, table.dtype)]) if more else table


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
