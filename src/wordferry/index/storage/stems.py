"""The stems of an index's words, kept with each segment: no search stems a whole vocabulary or counts all its lists.

A stem is known by its key (:func:`wordferry.find.stems.stem_keys`), which is the same in all segments and shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from wordferry.base.arrays import Int32Array
from wordferry.find.stems import Stemmer, UInt64Array, edition, stem_keys, stemmer
from wordferry.kernels.words import merge_keys, stem_frequencies

if TYPE_CHECKING:
    from wordferry.index.storage.segments import SegmentRows

STEMS = ("keys", "starts", "words", "df", "word_df")


@dataclass(frozen=True, eq=False)
class SegmentStems:
    """The stems of the words of some documents."""

    edition: str
    """Which stems these are: :func:`wordferry.find.stems.edition`."""
    keys: UInt64Array
    """Of each stem, ascending."""
    starts: Int32Array
    """Where the words of each stem begin, and where the last ones end."""
    words: Int32Array
    """The numbers of the words, ascending within a stem."""
    df: Int32Array
    """Document frequency of each stem, deleted documents included."""
    word_df: Int32Array
    """Document frequency of each of the words, likewise."""

    def check(self, words: int) -> None:
        """ValueError when the arrays lead outside of each other, which only damaged ones do."""
        starts, own = self.starts, self.words
        fits = len(starts) == len(self.keys) + 1 == len(self.df) + 1 and len(own) == len(self.word_df)
        fits = fits and starts[0] == 0 and starts[-1] == len(own) and bool((np.diff(starts) > 0).all())
        if not fits or own.min(initial=0) < 0:
            raise ValueError("the stems lead outside of their words")
        if own.max(initial=-1) >= words:
            raise ValueError("the stems name a word that does not exist")

    def words_of(self, key: int) -> Int32Array:
        """The words of a stem."""
        place = int(np.searchsorted(self.keys, np.uint64(key)))
        if place == len(self.keys) or int(self.keys[place]) != key:
            return np.zeros(0, dtype=np.int32)
        return np.asarray(self.words[int(self.starts[place]) : int(self.starts[place + 1])])


class WordKeys:
    """The keys of the stems of an index's words by number, each found when it is first asked for."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._stems: Stemmer | None = None
        self._mutex = Lock()
        self._keys = np.zeros(0, dtype=np.uint64)
        """By number; 0 where it is not known yet."""

    @property
    def edition(self) -> str:
        """Which stems these are."""
        return edition(self._language)

    def of_words(self, words: Sequence[str]) -> UInt64Array:
        """The keys of any words; 0 is not one."""
        with self._mutex:  # compiled stemmers are not made for several threads
            self._stems = self._stems or stemmer(self._language)
            keys = stem_keys(self._stems(words))
        keys[keys == 0] = 1
        return keys

    def learn(self, stems: SegmentStems) -> None:
        """Take over the keys of words that a segment has stored."""
        if len(stems.words):
            self._grow(int(stems.words.max()) + 1)
            self._keys[stems.words] = np.repeat(stems.keys, np.diff(stems.starts))

    def forget(self, first: int) -> None:
        """Forget the words from a number on."""
        self._keys = self._keys[:first]

    def _grow(self, size: int) -> None:
        if size > len(self._keys):
            self._keys = np.concatenate([self._keys, np.zeros(size - len(self._keys), dtype=np.uint64)])

    def stems(self, rows: SegmentRows, spell: Callable[[Sequence[int]], list[str]]) -> SegmentStems:
        """The stems of some documents, made anew; ``spell`` gives words by their numbers."""
        frequencies = rows.lists.frequencies(int(rows.bags.words.max(initial=0)) + 1)
        self._grow(len(frequencies))
        numbers = np.flatnonzero(frequencies)
        new = numbers[self._keys[numbers] == 0]
        if len(new):
            self._keys[new] = self.of_words(spell(new.tolist()))
        keys = self._keys[numbers]
        order = np.argsort(keys, kind="stable")
        own, starts = np.unique(keys[order], return_index=True)
        starts = np.append(starts, len(order)).astype(np.int64)
        words = numbers[order].astype(np.int32)
        df = stem_frequencies(rows.lists.view, starts, words).astype(np.int32)
        return SegmentStems(self.edition, own, starts.astype(np.int32), words, df, frequencies[words].astype(np.int32))


class StemNumbers:
    """Numbers for the stems of an index while it is open, in the order in which segments bring them."""

    def __init__(self, keys: UInt64Array | None = None) -> None:
        """``keys``: of stems that have the first numbers, ascending."""
        own: UInt64Array = np.zeros(0, dtype=np.uint64) if keys is None else keys
        self._sorted = own, np.arange(len(own), dtype=np.int32)
        """The keys in order, and the number of each."""

    def __len__(self) -> int:
        return len(self._sorted[0])

    @property
    def keys(self) -> UInt64Array:
        """By number."""
        keys, numbers = self._sorted
        found = np.empty_like(keys)
        found[numbers] = keys
        return found

    def take(self, keys: UInt64Array) -> Int32Array:
        """The numbers of stems whose keys ascend; new ones get the next."""
        groups, merged, numbers = merge_keys(self._sorted, keys)
        self._sorted = merged, numbers
        return groups

    def find(self, key: int) -> int:
        """The number of a stem, -1 when no document has it."""
        keys, numbers = self._sorted
        place = int(np.searchsorted(keys, np.uint64(key)))
        return int(numbers[place]) if place < len(keys) and int(keys[place]) == key else -1
