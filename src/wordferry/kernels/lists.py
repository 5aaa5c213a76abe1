"""The typed door to the kernels over posting lists: stored documents, what words weigh, and Rel-RWMD through both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array, Neighbors

BLOCK = 1 << 16
"""Rows of a block: a row is stored in 16 bits, and what is summed up over a block stays in the cache."""


GROUP = 512
"""Rows whose bits lie together."""
_FREQUENT = 40
"""A word has bits where at least one row in this many has it: summing over bits is then faster than over a list."""
_FEWEST = 512
"""In a block of fewer rows no word has bits."""


@dataclass(frozen=True)
class PostingLists:
    """For each word the rows that have it and how often, by blocks of rows.

    A list names the rows that have the word once, then those that have it more often, with their counts. A word that
    many rows of a block have has a bit for each row instead; its list holds only the rows that have it more than once,
    and how many times more.
    """

    documents: int
    blocks: Int64Array
    """Where the words of each block begin, and where the last ones end."""
    words: Int32Array
    """The words of each block that have a list, rising."""
    starts: Int64Array
    """Where the list of each of them begins and where its counts do, and where the last ones end: two columns."""
    rows: npt.NDArray[np.uint16]
    """Rows within the block: those of one occurrence, rising, then the others, rising."""
    counts: npt.NDArray[Any]
    """uint8, uint16 or int32: the narrowest that holds the largest count."""
    bit_blocks: Int64Array
    """Where the words with bits of each block begin, and where the last ones end."""
    bit_words: Int32Array
    bit_sizes: Int32Array
    """How many rows have the word."""
    bits: npt.NDArray[np.uint16]

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that is stored, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    @cached_property
    def view(self) -> _native.StoredWordLists:
        """The lists as kernels take them."""
        return _native.StoredWordLists(self.documents, *self.arrays.values())

    def frequencies(self, size: int) -> Int64Array:
        """Document frequency of each of ``size`` words; ValueError when there is a larger one."""
        sizes = np.diff(self.starts[:, 0])
        found = np.bincount(self.words, sizes, minlength=size) + np.bincount(self.bit_words, self.bit_sizes, size)
        for block in range(len(self.bit_blocks) - 1):  # the list of a word with bits names no other rows than these
            words = self.words[self.blocks[block] : self.blocks[block + 1]]
            both = np.isin(words, self.bit_words[self.bit_blocks[block] : self.bit_blocks[block + 1]])
            found[words[both]] -= sizes[self.blocks[block] : self.blocks[block + 1]][both]
        return found.astype(np.int64)


class Touched(NamedTuple):
    """The words that a query has or is related to, ascending, with what they cost for each occurrence."""

    words: Int32Array
    near: Float32Array
    """The cost of the nearest word of the query that the word may move to."""
    gain: Float32Array
    """How much less that is than the cost of a word that is not touched."""
    common: Float32Array
    """The mass that the query has of this very word and that may stay; else 0."""


def build(indptr: Int64Array, words: npt.NDArray[Any], counts: npt.NDArray[Any]) -> PostingLists:
    """The lists of bags of words, worked through a block of rows at a time."""
    indptr, documents = indptr.astype(np.int64, copy=False), len(indptr) - 1
    made = [_block(indptr[:1], words, counts)]  # without a row, so that each array has its type
    made += [_block(indptr[first : first + BLOCK + 1], words, counts) for first in range(0, documents, BLOCK)]
    own, sizes, repeated, rows, often, bit_words, bit_sizes, bits = map(np.concatenate, zip(*made, strict=True))

    def ends(sizes: npt.ArrayLike) -> Int64Array:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    blocks, bit_blocks = (ends([len(block[column]) for block in made[1:]]) for column in (0, 5))
    starts = np.stack([ends(sizes), ends(repeated)], axis=1)
    return PostingLists(documents, blocks, own, starts, rows, often, bit_blocks, bit_words, bit_sizes, bits)


def _block(ends: Int64Array, words: npt.NDArray[Any], counts: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """The lists of the rows that these ends belong to.

    Words that have a list, its size, and how many rows of it have the word more than once; rows and counts; words that
    have bits, how many rows have each, and the bits.
    """
    span, rows = slice(int(ends[0]), int(ends[-1])), len(ends) - 1
    words, counts = words[span], counts[span]
    often = np.bincount(words)
    frequent = np.flatnonzero(_FREQUENT * often >= rows) if rows >= _FEWEST else np.zeros(0, np.int64)
    numbers = -(-rows // GROUP) * GROUP // 16
    places = np.full(len(often), -1)
    places[frequent] = numbers * np.arange(len(frequent))
    once, repeated = np.zeros(len(often), np.int64), np.zeros(len(often), np.int64)
    _native.count_lists(words, counts, places, once, repeated)
    listed, counters = np.cumsum(once + repeated), np.cumsum(repeated) - repeated
    out_rows = np.empty(int(listed[-1]) if len(listed) else 0, np.uint16)
    out_counts = np.empty(int(repeated.sum()), counts.dtype)
    bits = np.zeros(numbers * len(frequent), np.uint16)
    starts = listed - once - repeated
    _native.place_lists(ends, words, counts, starts, listed - repeated, counters, places, out_rows, out_counts, bits)
    own = np.flatnonzero(once + repeated)
    lists = own.astype(np.int32), (once + repeated)[own], repeated[own], out_rows, out_counts
    return *lists, frequent.astype(np.int32), often[frequent].astype(np.int32), bits


def repeats(growth: str = "counts", room: Float64Array | None = None) -> _native.Repeats:
    """How much a word counts that a document has more than once; one that stands there once counts 1.

    ``growth`` is "counts" (as often as it stands there), "logarithm" (``1 + ln(count)``) or "saturation"
    (``count * (1 + room) / (count + room)``, with the room of each row).
    """
    return _native.Repeats(_native.Growth[growth], np.zeros(0) if room is None else room)


COUNTS = repeats()
COSINE_LOST = 1e-3
"""Cosine distances below this have lost digits to 1 - product."""
StoredDocuments = _native.StoredDocuments
"""Documents as an index stores them, by row and by word: ``StoredDocuments(lists.view, indptr, words, counts)``;
ValueError when lengths do not agree. ``sums(weights, squared, repeats, threads)`` gives what the words of each document
count times their weights, one after the other, or the sum of the squares; ValueError when the arrays lead outside of
themselves, or to a word without a weight."""
WeighedDocuments = _native.WeighedDocuments
"""``WeighedDocuments(stored, totals, exact, norms, longest, repeats)``: stored documents with the sums of what their
words weigh. ``totals`` may be a little less where only bounds are made of them; ``exact`` are the sums as they were
made, or none where nothing needs them. ``norms`` are Euclidean lengths, or a little less, of which bounds of the cosine
distance are made, or none. No document has more than ``longest`` words, repeated ones counted as often."""
bounds = _native.list_bounds
"""``bounds(lists.view, *touched, totals, repeats, rest, threads)``: for each row ``rest`` less what the touched words
save, a share of ``totals``, and how many entries of lists were visited.

That is what moving the document onto the query costs when a word that is not touched costs ``rest``. Rows without
words are at infinity. ValueError when the lists lead outside of themselves, which only damaged ones do."""

PANEL = 16
"""The most queries that walk the lists together."""


def nearest(
    queries: Sequence[_native.ListQuery],
    documents: tuple[Sequence[WeighedDocuments], _native.WordWeights],
    allowed: BoolArray | None,
    slack: float,
    k: int,
    threads: int,
    cosines: Sequence[_native.CosineShare] = (),
) -> Neighbors:
    """The k nearest of the allowed rows to each of a panel of queries; ``cosines`` are what that distance adds.

    ValueError when the arrays lead outside of themselves, which only damaged ones do.
    """
    rows, distances, *counts = _native.nearest_by_lists(queries, *documents, allowed, cosines, slack, k, threads)
    return Neighbors(rows, distances, counts=dict(zip(("postings", "evaluated"), counts, strict=True)))
