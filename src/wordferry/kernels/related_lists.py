"""The typed door to the kernels over inverted lists by word, as an index stores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wordferry import _native
from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.kernels.native import COUNTS, Repeats

BLOCK = 1 << 16
"""Rows of a block: a row is stored in 16 bits, and what is summed up over a block stays in the cache."""


GROUP = 512
"""Rows whose bits lie together."""
_GROUP_NUMBERS = 32
_FREQUENT = 40
"""A word has bits where at least one row of so many has it: summing up bits then takes less than summing up a list."""
_FEWEST = 512
"""In a block of fewer rows no word has bits."""


@dataclass(frozen=True)
class Lists:
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
        """In how many rows each of ``size`` words stands; ValueError when there is a larger one."""
        sizes = np.diff(self.starts[:, 0])
        found = np.bincount(self.words, sizes, minlength=size) + np.bincount(self.bit_words, self.bit_sizes, size)
        for block in range(len(self.bit_blocks) - 1):  # the list of a word with bits names no other rows than these
            words = self.words[self.blocks[block] : self.blocks[block + 1]]
            both = np.isin(words, self.bit_words[self.bit_blocks[block] : self.bit_blocks[block + 1]])
            found[words[both]] -= sizes[self.blocks[block] : self.blocks[block + 1]][both]
        return found.astype(np.int64)


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
    documents = len(indptr) - 1
    made = [
        _Block.of(indptr[first : first + BLOCK + 1].astype(np.int64), words, counts)
        for first in range(0, documents, BLOCK)
    ]

    def joined(name: str, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.concatenate([np.zeros(0, kind), *(getattr(block, name) for block in made)])

    def ends(sizes: npt.ArrayLike) -> Int64Array:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    return Lists(
        documents,
        ends([len(block.words) for block in made]),
        joined("words", np.int32),
        np.stack([ends(joined("sizes", np.int64)), ends(joined("repeated", np.int64))], axis=1),
        joined("rows", np.uint16),
        joined("counts", counts.dtype),
        ends([len(block.bit_words) for block in made]),
        joined("bit_words", np.int32),
        joined("bit_sizes", np.int32),
        joined("bits", np.uint16),
    )


@dataclass(frozen=True)
class _Block:
    """The lists of one block."""

    words: Int32Array
    sizes: Int64Array
    repeated: Int64Array
    rows: npt.NDArray[np.uint16]
    counts: npt.NDArray[Any]
    bit_words: Int32Array
    bit_sizes: Int32Array
    bits: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, ends: Int64Array, words: npt.NDArray[Any], counts: npt.NDArray[Any]) -> _Block:
        """From the rows that these ends belong to."""
        span, rows = slice(int(ends[0]), int(ends[-1])), len(ends) - 1
        words, counts = words[span], counts[span]
        often = np.bincount(words)
        frequent = np.flatnonzero(_FREQUENT * often >= rows) if rows >= _FEWEST else np.zeros(0, np.int64)
        numbers = -(-rows // GROUP) * _GROUP_NUMBERS
        places = np.full(len(often), -1)
        places[frequent] = numbers * np.arange(len(frequent))
        once, repeated = np.zeros(len(often), np.int64), np.zeros(len(often), np.int64)
        _native.count_lists(words, counts, places, once, repeated)
        listed, counters = np.cumsum(once + repeated), np.cumsum(repeated) - repeated
        out_rows = np.empty(int(listed[-1]) if len(listed) else 0, np.uint16)
        out_counts = np.empty(int(repeated.sum()), counts.dtype)
        bits = np.zeros(numbers * len(frequent), np.uint16)
        starts = listed - once - repeated
        _native.place_lists(
            ends, words, counts, starts, listed - repeated, counters, places, out_rows, out_counts, bits
        )
        own = np.flatnonzero(once + repeated)
        return cls(
            own.astype(np.int32),
            (once + repeated)[own],
            repeated[own],
            out_rows,
            out_counts,
            frequent.astype(np.int32),
            often[frequent].astype(np.int32),
            bits,
        )


def bounds(
    lists: Lists, touched: Touched, totals: Float32Array, rest: float, threads: int, repeats: Repeats = COUNTS
) -> tuple[Float32Array, int]:
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
        repeats.native,
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
        self.native = _native.ListPart(lists.view, *bags, totals)


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


class WeighedStored:
    """Documents with their words of both kinds, those without a vector in lists of their own.

    ``totals`` are the sums of what words count times their weights over all words of each document, and so are those
    of both kinds. No document has more than ``longest`` words.
    """

    def __init__(
        self, known: Stored, others: Stored, totals: Float64Array, longest: float, repeats: Repeats = COUNTS
    ) -> None:
        self.documents = known.documents
        self.native = _native.WeighedPart(known.native, others.native, totals, longest, repeats.native)


class WordWeights:
    """What each word weighs; words without a vector are numbered behind the others."""

    def __init__(self, known: Float64Array, others: Float64Array) -> None:
        self.native = _native.WordWeights(known, others)


def nearest_weighed(
    query: ListQuery,
    parts: list[WeighedStored],
    weights: WordWeights,
    allowed: BoolArray | None,
    slack: float,
    k: int,
    threads: int,
) -> Found:
    """The k nearest of the allowed rows where words weigh more or less. ValueError as in ``ListQuery.nearest``."""
    rows, distances = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.float32)
    mask = None if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
    count, visited, evaluated = _native.nearest_weighed(
        query.native, [part.native for part in parts], weights.native, mask, slack, threads, rows, distances
    )
    return Found(rows[:count], distances[:count], visited, evaluated)


def weighed_distances(
    query: ListQuery, parts: list[WeighedStored], weights: WordWeights, rows: Int64Array
) -> Float32Array:
    """The distances of some rows."""
    out = np.empty(len(rows), dtype=np.float32)
    _native.weighed_distances(query.native, [part.native for part in parts], weights.native, rows, out)
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
