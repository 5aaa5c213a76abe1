"""Embeddings that grow: words get rows as they come, and words of queries get rows that nothing stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from threading import RLock
from typing import Any, cast

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array
from wordferry.base.runtime import logger
from wordferry.errors import NotFound
from wordferry.words.embeddings import Embeddings
from wordferry.words.vocabulary import Vocabulary

FIRST = 1 << 16
"""The row of the first stored word. The rows below are for words of queries, of which there can be as many."""


class GrowingVocabulary(Vocabulary):
    """The first ``size`` stored words of a table that grows, from the row :data:`FIRST` on, and words of queries.

    >>> words = GrowingVocabulary()
    >>> words.append(["haus", "baum"])
    >>> words.get("baum") - FIRST, words.get("tal"), len(words) - FIRST
    (1, -1, 2)
    """

    def __init__(self, words: Iterable[str] = (), meet: Callable[[Iterable[str]], object] | None = None) -> None:
        self._stored: list[str] = []
        self._rows: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        """The rows of words of queries."""
        self._asked: list[str] = []
        self._meet = meet
        self.size = 0
        self.append(words)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("finder", "_meet")} | {"_meet": None}

    def append(self, words: Iterable[str]) -> None:
        """Give further words the next rows."""
        for word in words:
            self._rows[word] = FIRST + len(self._stored)
            self._stored.append(word)
        self.size = len(self._stored)

    def ask(self, words: Iterable[str]) -> None:
        """Give words of queries rows of their own."""
        for word in words:
            self.asked[word] = len(self._asked)
            self._asked.append(word)

    def frozen(self) -> GrowingVocabulary:
        """These words; stored words that come later are not among them, words of queries are."""
        found = GrowingVocabulary.__new__(GrowingVocabulary)
        found.__dict__ |= {key: value for key, value in self.__dict__.items() if key != "finder"}
        return found

    def meet(self, words: Iterable[str]) -> None:
        """Have vectors made for words of a query that have none yet."""
        if self._meet is not None:
            self._meet(words)

    @property
    def stored(self) -> tuple[str, ...]:
        """The stored words in the order of their rows."""
        return tuple(self._stored[: self.size])

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self)

    @property
    def _ids(self) -> dict[str, int]:
        return {**self.asked, **self.spellings}

    def __len__(self) -> int:
        return FIRST + self.size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        row = int(index)
        if row >= FIRST:
            return self._stored[row - FIRST]
        return self._asked[row] if row < len(self._asked) else f"\0{row}"

    def __iter__(self) -> Iterator[str]:
        asked = self._asked[:]
        return iter((*asked, *(f"\0{row}" for row in range(len(asked), FIRST)), *self.stored))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.get(word) >= 0

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def id(self, word: str) -> int:
        found = self.get(word)
        if found < 0:
            raise NotFound(f"The word {word!r} has no vector yet.")
        return found

    def get(self, word: str, default: int = -1) -> int:
        row = self._rows.get(word, -1)
        return row if FIRST <= row < FIRST + self.size else self.asked.get(word, default)

    @cached_property
    def finder(self) -> Callable[[str, int], int]:
        return self.get

    @property
    def spellings(self) -> dict[str, int]:
        return self._rows if self.size == len(self._rows) else dict(zip(self.stored, range(FIRST, len(self))))  # noqa: B905


class GrowingEmbeddings(Embeddings):
    """One state of a :class:`VectorTable`; the rows of words of queries are filled as such words come."""

    @cached_property
    def stored(self) -> Embeddings:
        words = Vocabulary.trusted(cast(GrowingVocabulary, self.vocabulary).stored)
        assert self.lengths is not None
        return Embeddings._trusted(words, self.matrix[FIRST:], self.normalized, self.lengths[FIRST:])


class VectorTable:
    """Vectors of stored words, which are appended, and of words of queries; rows keep their numbers and values.

    ``make`` gives words and their vectors (those that it has), for words of queries; None: they have none.
    """

    def __init__(self, dimensions: int, make: Callable[[list[str]], Embeddings | None] | None) -> None:
        self._make = make
        self._mutex = RLock()
        self._words = GrowingVocabulary(meet=self.meet)
        self._unknown: set[str] = set()
        self._matrix = np.zeros((FIRST, dimensions), dtype=np.float32)
        self._lengths = np.ones(FIRST, dtype=np.float64)
        self.embeddings = self._frozen()
        """All words that were stored."""

    def __len__(self) -> int:
        return self._words.size

    def append(self, words: Iterable[str], matrix: Float32Array, lengths: Float64Array) -> None:
        """Put vectors of stored words behind those there are."""
        with self._mutex:
            start = len(self._words)
            end = start + len(matrix)
            if end > len(self._matrix):
                self._reserve(2 * end - FIRST)
            self._matrix[start:end], self._lengths[start:end] = matrix, lengths
            self._words.append(words)
            self.embeddings = self._frozen()

    def _reserve(self, rows: int) -> None:
        """Move to arrays with room for more rows; earlier states keep those that they have."""
        asked, stored = slice(0, len(self._words.asked)), slice(FIRST, len(self._words))
        matrix, lengths = np.zeros((rows, self._matrix.shape[1]), dtype=np.float32), np.ones(rows)
        for some in (asked, stored):
            matrix[some], lengths[some] = self._matrix[some], self._lengths[some]
        self._matrix, self._lengths = matrix, lengths

    def meet(self, words: Iterable[str]) -> None:
        """Make vectors for those of the words of a query that have none yet; they are in memory only."""
        with self._mutex:
            new = [word for word in dict.fromkeys(words) if word not in self._words and word not in self._unknown]
            asked = len(self._words.asked)
            if len(new) > FIRST - asked:
                logger.warning("%d new words were met; further ones are compared by equal spelling.", FIRST)
            some = new[: FIRST - asked]
            made = self._make(some) if some and self._make is not None else None
            if made is not None:
                rows = slice(asked, asked + len(made))
                self._matrix[rows] = made.matrix
                self._lengths[rows] = 1.0 if made.lengths is None else made.lengths
                self._words.ask(made.vocabulary)
            if len(self._unknown) > FIRST:
                self._unknown.clear()
            self._unknown |= {word for word in new if word not in self._words.asked}

    def _frozen(self) -> GrowingEmbeddings:
        words, end = self._words.frozen(), len(self._words)
        found = GrowingEmbeddings._trusted(words, self._matrix[:end], True, self._lengths[:end])
        return cast(GrowingEmbeddings, found)
