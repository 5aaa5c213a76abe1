"""The typed door to the kernels of word search: inverted lists by stem, and neighbours among a few documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float64Array, Int32Array, Int64Array

UInt16Array = npt.NDArray[np.uint16]


class WordBags(NamedTuple):
    """Bags of words as CSR, with the stem of each word and its place among the forms of that stem."""

    indptr: Int64Array
    words: Int32Array
    counts: Int32Array
    group_of: Int32Array
    form_of: UInt16Array


class Postings(NamedTuple):
    """One list for each stem: documents rise, and each posting says which form stands there and how often."""

    starts: Int64Array
    documents: Int32Array
    forms: UInt16Array
    counts: UInt16Array
    df: Int64Array
    """In how many documents each stem stands."""


class Saturation(NamedTuple):
    """tf / (tf + floor + slope * length), other forms than the query's counting ``stem``."""

    stem: float
    floor: float
    slope: float


class QueryWords(NamedTuple):
    """Per query word its stem, the form that counts fully (-1: none), and the part that no document changes."""

    groups: Int32Array
    forms: Int32Array
    factors: Float64Array


def postings(bags: WordBags, groups: int) -> Postings:
    """Turn bags of words into lists by stem."""
    view = _native.WordBags(*bags, groups)
    starts = np.zeros(groups + 1, dtype=np.int64)
    df = np.empty(groups, dtype=np.int64)
    view.count(starts[1:], df)
    np.cumsum(starts, out=starts)
    total = int(starts[-1])
    documents, forms, counts = np.empty(total, np.int32), np.empty(total, np.uint16), np.empty(total, np.uint16)
    view.fill(documents, forms, counts)
    return Postings(starts, documents, forms, counts, df)


class WordLists:
    """Lists that were checked once and can be asked many times, from several threads."""

    def __init__(self, lists: Postings, lengths: Int32Array) -> None:
        self._view = _native.WordLists(lists.starts, lists.documents, lists.forms, lists.counts, lengths)

    def best(
        self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None = None
    ) -> tuple[Int64Array, Float64Array]:
        """The best k documents with a score above 0, by (score falling, row rising)."""
        rows, scores = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float64)
        mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
        count = self._view.best(*query, *saturation, mask, rows, scores)
        return rows[:count], scores[:count]


def nearest_among(
    indptr: Int64Array, stems: Int32Array, counts: Int32Array, weight: Float64Array, groups: int, m: int
) -> tuple[Int64Array, Float64Array]:
    """For each document its m nearest others by cosine, -1 and 0 where there are fewer.

    ``stems`` are rows of CSR (a stem may come several times in one), ``weight`` the idf of each entry.
    """
    rows = len(indptr) - 1
    found, cosines = np.empty((rows, m), dtype=np.int64), np.empty((rows, m), dtype=np.float64)
    _native.StemRows(indptr, stems, counts, weight, groups).nearest(found, cosines)
    return found, cosines
