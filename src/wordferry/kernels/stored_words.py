"""The typed door to word search over the lists and bags of an index, as it stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.kernels.related_lists import Lists

Rows = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""indptr, words and counts, as an index stores them."""


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
    factors: Float64Array
    """One for each word of the query: its part that no document changes."""


class StemsOfWords(NamedTuple):
    """The stem of each word and what it weighs: words without a vector come behind the vocabulary."""

    group_of: Int32Array
    vocabulary: int
    idf: Float64Array
    """Of each stem."""


class Found(NamedTuple):
    """The best rows, and how much was looked at."""

    rows: Int64Array
    scores: Float64Array
    visited: int
    """Entries of lists."""
    evaluated: int
    """Documents whose score was computed."""


class WordPart:
    """Some documents of an index, by word and by row, with their lengths."""

    def __init__(self, lists: tuple[Lists, Lists], bags: tuple[Rows, Rows], totals: Float32Array) -> None:
        """``lists`` and ``bags``: of words with a vector, and of words without. ValueError where they lead outside."""
        self._documents = len(totals)
        known, others = (_native.StoredRows(*some) for some in bags)
        self.native = _native.StoredPart(lists[0].view, lists[1].view, known, others, totals)

    def __len__(self) -> int:
        return self._documents

    def tokens(self, alive: BoolArray | None) -> int:
        """The tokens of all documents, or of those that are alive."""
        return self.native.tokens(_mask(alive))


def best(
    parts: Sequence[WordPart],
    forms: QueryForms,
    saturation: tuple[float, float, float],
    k: int,
    allowed: BoolArray | None,
) -> Found:
    """The best k rows of all parts with a score above 0, by (score falling, row rising).

    ValueError when lists or bags lead outside of themselves, which only damaged ones do.
    """
    rows, scores = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float64)
    asked = (forms.slots, forms.words, forms.is_other, forms.is_exact, forms.factors)
    own = [part.native for part in parts]
    count, visited, evaluated = _native.best_by_words(own, *asked, *saturation, _mask(allowed), rows, scores)
    return Found(rows[:count], scores[:count], visited, evaluated)


def near(
    parts: Sequence[WordPart], stems: StemsOfWords, rows: Int64Array, wanted: Int32Array, m: int
) -> tuple[Int64Array, Float64Array, BoolArray]:
    """For each of some rows its m nearest others (-1 and 0 where there are fewer), and whether it has all wanted stems.

    ``wanted`` rise. ValueError when bags lead outside of themselves or of the stems.
    """
    found, cosines = np.empty((len(rows), m), dtype=np.int64), np.empty((len(rows), m), dtype=np.float64)
    complete = np.empty(len(rows), dtype=np.uint8)
    _native.near_rows([part.native for part in parts], *stems, rows, wanted, found, cosines, complete)
    return found, cosines, complete.view(bool)


def stem_frequencies(lists: tuple[Lists, Lists], starts: Int64Array, words: Int32Array, vocabulary: int) -> Int64Array:
    """In how many rows each stem stands; those that begin at ``starts`` are its words, numbered through both kinds."""
    df = np.zeros(len(starts) - 1, dtype=np.int64)
    _native.stem_frequencies(lists[0].view, lists[1].view, starts, words, vocabulary, df)
    return df


def _mask(rows: BoolArray | None) -> npt.NDArray[np.uint8] | None:
    return None if rows is None else np.ascontiguousarray(rows).view(np.uint8)
