"""Words without a vector: no distance knows them, but they are found like any other word.

They have numbers of their own, in the order in which they came; a number is never given to another word. The bags of
documents hold them beside the words with vectors, and one table of the catalogue says which word a number is.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import Int64Array
from wordferry.index.catalogue import damaged

EMPTY = {"others": 0, "others_checksum": 0}
"""What the state of an index says of them: the next number, and the CRC-32 of all rows of the table."""
_VARIABLES = 500


def in_a_row(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays one after the other, in the narrowest type that holds them all."""
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)


class Counts(NamedTuple):
    """Words and how often they come, of one document after the other (CSR)."""

    indptr: Int64Array
    words: npt.NDArray[Any]
    counts: npt.NDArray[Any]

    def select(self, rows: Int64Array) -> Counts:
        """Some rows, in the order given."""
        lengths = self.indptr[rows + 1] - self.indptr[rows]
        indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        places = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Counts(indptr, self.words[places], self.counts[places])

    @classmethod
    def join(cls, parts: Sequence[Counts]) -> Counts:
        """The rows of several, one after the other."""
        starts = np.cumsum([0, *(len(part.words) for part in parts)])
        ends = [part.indptr[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
        return cls(
            np.concatenate([np.zeros(1, dtype=np.int64), *ends]),
            in_a_row([part.words for part in parts]),
            in_a_row([part.counts for part in parts]),
        )

    @classmethod
    def gather(cls, rows: Iterable[dict[int, int]]) -> Counts:
        """Of mappings from words to counts."""
        indptr: list[int] = [0]
        words: list[int] = []
        counts: list[int] = []
        for row in rows:
            ids = sorted(row)
            words += ids
            counts += map(row.__getitem__, ids)
            indptr.append(len(words))
        return cls(np.array(indptr, dtype=np.int64), np.array(words, np.int32), np.array(counts, np.int32))


@dataclass(frozen=True)
class Encoded:
    """Documents as an index keeps them."""

    known: Counts
    """Words with a vector, as rows of the embeddings."""
    others: Counts
    tokens: Int64Array
    """Tokens of each document."""

    @property
    def known_tokens(self) -> Int64Array:
        """Tokens of each document that have a vector."""
        sums = np.concatenate(([0], np.cumsum(self.known.counts, dtype=np.int64)))
        result: Int64Array = np.diff(sums[self.known.indptr])
        return result


class OtherWords:
    """The table as its one writer sees it."""

    def __init__(self, connection: sqlite3.Connection, state: dict[str, Any], file: Path) -> None:
        self._numbers = {word: number for number, word in read_others(connection, state, file)}
        self._new: list[tuple[int, str]] = []
        self._next = int(state["others"])

    @classmethod
    def none(cls) -> OtherWords:
        """A table without words, of no index."""
        self = cls.__new__(cls)
        self._numbers, self._new, self._next = {}, [], 0
        return self

    def number(self, word: str) -> int:
        """The number of a word, a new one being given the next."""
        found = self._numbers.get(word)
        if found is None:
            found = self._numbers[word] = self._next
            self._new.append((found, word))
            self._next += 1
        return found

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return self._numbers

    @property
    def next(self) -> int:
        """The number that the next new word gets."""
        return self._next

    def store(self, connection: sqlite3.Connection, state: dict[str, Any]) -> None:
        """Put the new words into the table."""
        connection.executemany("INSERT INTO others VALUES(?, ?)", self._new)
        state |= {"others": self._next, "others_checksum": others_checksum(self._new, state["others_checksum"])}
        self._new = []

    def keep(self, connection: sqlite3.Connection, state: dict[str, Any], used: set[int]) -> None:
        """Forget words that no document has; the numbers of the others stay."""
        gone = [(number,) for number in self._numbers.values() if number not in used]
        if gone:
            connection.executemany("DELETE FROM others WHERE number = ?", gone)
            self._numbers = {word: number for word, number in self._numbers.items() if number in used}
            rows = sorted((number, word) for word, number in self._numbers.items())
            state["others_checksum"] = others_checksum(rows)


def others_checksum(rows: Iterable[tuple[int, str]], before: int = 0) -> int:
    """CRC-32 of rows of the table in the order of their numbers; of more rows than before, when that one's is given."""
    text = "".join(f"{number} {word}\n" for number, word in rows)
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), before)


def read_others(
    connection: sqlite3.Connection, state: dict[str, Any], file: Path, before: dict[str, Any] | None = None
) -> list[tuple[int, str]]:
    """The rows of the table, held to the state; only new ones after an earlier state, if nothing has gone since."""
    first, known = (0, 0) if before is None else (before["others"], before["others_checksum"])
    query = "SELECT number, word FROM others WHERE number >= ? ORDER BY number"
    rows: list[tuple[int, str]] = connection.execute(query, (first,)).fetchall()
    right = others_checksum(rows, known) == state["others_checksum"]
    if not right and before is not None:
        return read_others(connection, state, file)
    if not right or (rows and rows[-1][0] >= state["others"]):
        raise damaged(file, "the list of words without vectors")
    return rows


def words_numbered(connection: sqlite3.Connection, numbers: Sequence[int], file: Path) -> list[str]:
    """The words of some rows of the table, which are not held to its checksum."""
    found: dict[int, str] = {}
    for start in range(0, len(numbers), _VARIABLES):
        some = numbers[start : start + _VARIABLES]
        marks = ",".join("?" * len(some))
        found |= dict(connection.execute(f"SELECT number, word FROM others WHERE number IN ({marks})", some))
    if len(found) < len(set(numbers)):
        raise damaged(file, "the list of words without vectors")
    return [found[number] for number in numbers]
