"""The typed door to the kernels of word search: BM25 over posting lists, documents that stand together, and meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float64Array, Int32Array, Int64Array

FormQuery = _native.FormQuery
"""``FormQuery(slots, words, is_exact, factors, stem, floor, slope)``: the forms of the words of a query, those of one
word after the other. ``slots`` say which word of the query, ``is_exact`` is 1 for the very form that was asked for, and
``factors`` has for each word of the query its part that no document changes. The rest is of the formula
tf / (tf + floor + slope * length), in which other forms than the query's count ``stem``."""
WordDocuments = _native.WordDocuments
"""Stored documents with the tokens of each: ``WordDocuments(stored, lengths)``."""
best = _native.best_by_words
"""``best(parts, query, allowed, k)``: the best k rows with a score above 0 by (score descending, row ascending), their
scores, how many entries of lists were visited, and how many documents were evaluated. ValueError when lists or bags
lead outside of themselves, which only damaged ones do."""
scores = _native.scores_by_words
"""``scores(parts, query, rows)``: the score of each of some rows, to the bit what :func:`best` says; 0 where a row has
no word of the query."""
near = _native.near_rows
"""``near(parts, group_of, idf, rows, wanted, m)``: for each of some rows its m nearest others and how near they are (-1
and 0 where there are fewer), and whether it has all wanted stems, which ascend. ``group_of`` is the stem of each word,
``idf`` that of each stem. ValueError when bags lead outside of themselves or of the stems."""
nearest_among = _native.nearest_among
"""``nearest_among(indptr, stems, counts, weight, groups, m)``: for each of a few documents its m nearest others by
cosine, -1 and 0 where there are fewer. ``stems`` are rows of CSR (a stem may come several times in one), ``weight`` the
idf of each entry."""
stem_frequencies = _native.stem_frequencies
"""``stem_frequencies(lists.view, starts, words)``: document frequency of each stem; its words are those from ``starts``
on."""


def merge_keys(
    known: tuple[npt.NDArray[np.uint64], Int32Array], keys: npt.NDArray[np.uint64]
) -> tuple[Int32Array, npt.NDArray[np.uint64], Int32Array]:
    """The numbers of keys among known ones and their numbers, new ones being numbered behind them; and all in order.

    Keys ascend; ValueError where they do not, as only damaged ones.
    """
    groups, merged, numbers, count = _native.merge_keys(*known, keys)
    return groups, merged[:count], numbers[:count]


PARTS = 1 << 18
"""Cosines are added up as whole numbers of this fraction of 1, so that any order gives the same sums."""


class CosineSums(NamedTuple):
    """How many documents there are, and the sums of their cosines and of the squares of these, in :data:`PARTS`."""

    documents: int
    total: int
    squares: int


class NearestByMeaning(NamedTuple):
    """The rows with the largest cosines, by (cosine descending, row ascending), and the sums over all that live."""

    rows: Int64Array
    cosines: Float64Array
    sums: CosineSums


CodedDocuments = _native.CodedDocuments
"""Vectors of documents as the kernel takes them: ``CodedDocuments(codes, scales)``, a scale for each document."""


def nearest_by_meaning(
    parts: Sequence[CodedDocuments],
    query: tuple[npt.NDArray[np.int16], float],
    k: int,
    masks: tuple[BoolArray | None, BoolArray | None],
) -> NearestByMeaning:
    """The best k rows of all parts for a query, given as levels and their scale.

    ``masks`` say which rows are alive, and so count in the sums, and which may be found; None is all of them.
    """
    rows, cosines, *sums = _native.best_by_meaning(parts, *query, *masks, k)
    return NearestByMeaning(rows, cosines, CosineSums(*sums))
