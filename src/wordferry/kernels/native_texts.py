"""The typed door to the kernels that split texts and count their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from wordferry import _native
from wordferry.base.arrays import Int32Array, Int64Array

_END = b"\xff"
"""After every word: a byte that no UTF-8 text holds."""


class CountedTexts(NamedTuple):
    """Documents as bags of words (CSR, the words of a row rising), and the words that were new."""

    indptr: Int64Array
    words: Int32Array
    counts: Int32Array
    other_indptr: Int64Array
    other_words: Int32Array
    other_counts: Int32Array
    tokens: Int64Array
    new_words: list[str]
    """Words that had no number before, in the order of those they have now."""


class WordCounter:
    """Words with their numbers: rows of the vectors, or numbers of their own for words without a vector.

    ``stop`` are left out of texts, as are words with fewer than ``min_length`` letters; lists of words are taken as
    they are.
    """

    def __init__(
        self, known: dict[str, int], others: dict[str, int], stop: Iterable[str], *, lowercase: bool, min_length: int
    ) -> None:
        codes = np.fromiter(known.values(), np.int32, len(known))
        self._native = _native.WordCounter(_joined(known), codes, _joined(stop), lowercase, min_length)
        self.add(others)

    def add(self, others: dict[str, int]) -> None:
        """Words without a vector that have a number already."""
        self._native.add(_joined(others), -2 - np.fromiter(others.values(), np.int32, len(others)))

    def count(self, documents: Sequence[str | Sequence[str]], next_other: int, threads: int) -> CountedTexts:
        """Count documents: texts of ASCII letters, which are split, or lists of words.

        Words that have no number yet get those from ``next_other`` on, in the order in which they come.
        """
        data = [text.encode("ascii") if isinstance(text, str) else _joined(text) for text in documents]
        split = np.fromiter((isinstance(text, str) for text in documents), np.uint8, len(data))
        ends = np.cumsum(np.fromiter(map(len, data), np.int64, len(data)))
        found = self._native.count(b"".join(data), ends, split, next_other, threads)
        known, others = found.pairs, found.other_pairs
        arrays = (
            *(np.empty(len(data) + 1, np.int64), np.empty(known, np.int32), np.empty(known, np.int32)),
            *(np.empty(len(data) + 1, np.int64), np.empty(others, np.int32), np.empty(others, np.int32)),
            np.empty(len(data), np.int64),
        )
        found.fill(*arrays)
        new = found.new_words.split(_END)[:-1]
        return CountedTexts(*arrays, [word.decode("utf-8", "surrogatepass") for word in new])


def _joined(words: Iterable[str]) -> bytes:
    return b"".join([word.encode("utf-8", "surrogatepass") + _END for word in words])
