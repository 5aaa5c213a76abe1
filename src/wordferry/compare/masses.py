"""Rows of masses: made of weights, over other word ids, and as whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, Float32Array, FloatArray, Int32Array, Int64Array, check_row_sums
from wordferry.base.lazy import sparse as sp
from wordferry.compare.frame import Frame
from wordferry.texts.weights import Weighting

SCALE = 2**52
"""The whole mass that weights which are not whole numbers are scaled to."""
_LARGEST_COUNT = 2**31
_BLOCK = 1 << 20
"""Stored weights that are made into masses at a time, so that what is needed on the way stays small."""
_FINEST = 2**24
"""Multiples of 1 / 2**24, up to 1, add up in float32 without rounding."""


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
    starts = by_word.indptr[chosen[rows]]
    lengths = by_word.indptr[chosen[rows] + 1] - starts
    ends = lengths.cumsum()
    entries = np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)
    documents = by_word.indices[entries]
    order = np.argsort(documents, kind="stable")  # words of one document stay in their order
    indptr = np.zeros(by_word.shape[1] + 1, dtype=np.int64)
    np.cumsum(np.bincount(documents, minlength=by_word.shape[1]), out=indptr[1:])
    words = np.repeat(rows, lengths)[order].astype(np.int32)
    return Csr(indptr, words, by_word.data[entries[order]], (by_word.shape[1], len(chosen)))


def joined(parts: list[Any], kind: Any) -> Any:
    """One array of several; a single one is not copied."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.zeros(0, kind), *parts])


def places_of(words: Int64Array, size: int) -> Int32Array:
    """The place of each id among ``words``, -1 for the others."""
    places = np.full(size, -1, np.int32)
    places[words] = np.arange(len(words), dtype=np.int32)
    return places


def with_data(bag: Csr, data: Any) -> Csr:
    """Rows of the words of ``bag`` with other values."""
    return Csr(bag.indptr, bag.indices, np.ascontiguousarray(data), bag.shape)


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
    """For blocks of rows: their lengths, compact ids and shares, and the weights where they are whole numbers."""
    whole, start = True, 0
    while start < matrix.shape[0]:
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
