"""The term dictionary: every word of an index has one number, in the order in which words came.

Which vector a word has, if any, is an attribute of the word. The dictionary is a table of the catalogue that is looked
up by spelling or by number; no search reads all of it. A number is never given to another word.

Vectors that an index makes as words come are blocks of another table, to which others are only appended. The blocks of
a change are written in its transaction, so that a word and its vector are there together or not at all.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array
from wordferry.base.runtime import Progress
from wordferry.errors import InputError, VocabularyMismatch, WordferryError
from wordferry.index.storage.catalogue import SCHEMA, Database, sealed
from wordferry.texts.coverage import CoverageWarning
from wordferry.texts.stop_marks import AFTER_MARK, MARK, is_marked
from wordferry.words.embeddings import Embeddings
from wordferry.words.growing import GrowingVocabulary, VectorTable
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.words.loaders.demand import VectorSource

_BLOCK = 4096
"""Words of a block of vectors."""
_COMPARED = 4
"""Stored words whose vectors are made again, to tell the model of the index from another."""
NO_VECTOR = 1 << 29
"""Behind this number words without a vector are ordered, by their own numbers; words with one, by its row."""
TermRow = tuple[int, str, int | None, int]
"""A row of the table: number, word, vector, checksum."""


def term_row(number: int, word: str, vector: int | None) -> TermRow:
    """A word, given by its number, spelling and vector, as the table holds it: with a CRC-32."""
    return number, word, vector, zlib.crc32(f"{number} {vector} {word}".encode("utf-8", "surrogatepass"))


def checked_rows(connection: Database, rows: Iterable[TermRow]) -> Iterator[TermRow]:
    """Rows of the table, each held to its checksum."""
    for number, word, vector, checksum in rows:
        if zlib.crc32(f"{number} {vector} {word}".encode("utf-8", "surrogatepass")) != checksum:
            raise connection.damaged(f"the word {word!r}")
        yield number, word, vector, checksum


@dataclass(frozen=True, eq=False)
class TermVectors:
    """Which words of a state have a vector."""

    size: int
    """How many words were ever numbered."""
    numbers: Int64Array
    """The words that have a vector, ascending."""
    rows: Int64Array
    """The row of the embeddings that is the vector of each."""
    stop: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """The stop words, which weigh nothing."""

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def row_of(self) -> Int32Array:
        """The vector of each word by its number; -1 for none."""
        found = np.full(self.size, -1, dtype=np.int32)
        found[self.numbers] = self.rows
        return found

    @cached_property
    def number_of(self) -> Int32Array:
        """The word of each row of the embeddings, as far as words have any; -1 for none."""
        found = np.full(int(self.rows.max(initial=-1)) + 1, -1, dtype=np.int32)
        found[self.rows] = self.numbers
        return found

    @classmethod
    def of(cls, size: int, pairs: Sequence[tuple[int, int]]) -> TermVectors:
        """From the number and the row of each word that has a vector."""
        found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(size, found[:, 0], found[:, 1])

    @classmethod
    def listed(cls, connection: Database, size: int, first: int = 0) -> TermVectors:
        """Those that the table has, from a number on."""
        query = "SELECT number, vector FROM words WHERE vector IS NOT NULL AND number >= ? ORDER BY number"
        return cls.of(size, connection.execute(query, (first,)).fetchall())

    @classmethod
    def assign(cls, connection: Database, size: int, vocabulary: Vocabulary) -> TermVectors:
        """Give every word of the dictionary the vector that a vocabulary has for it, and write that down."""
        find, found = vocabulary.finder, []
        for number, word, _, _ in checked_rows(connection, connection.execute("SELECT * FROM words")):
            vector = find(word, -1)
            found.append(term_row(number, word, vector if vector >= 0 else None))
        change = "UPDATE words SET vector = ?, checksum = ? WHERE number = ?"
        connection.executemany(change, ((v, checksum, n) for n, _, v, checksum in found))
        return cls.listed(connection, size)

    def checksum(self, before: int = 0) -> int:
        """CRC-32 of numbers and vectors; of these behind others, when the CRC of the others is given."""
        return zlib.crc32(np.stack([self.numbers, self.rows], axis=1).astype("<i8").tobytes(), before)

    @property
    def facts(self) -> dict[str, int]:
        """What a state says of them."""
        return {"words": self.size, "vectors": len(self), "vectors_checksum": self.checksum()}


def read_vectors(connection: Database, state: dict[str, Any], before: TermVectors | None = None) -> TermVectors:
    """Which words have a vector, held to the state. ``before`` is a prefix that was read from an earlier state."""
    before = before or TermVectors.of(0, [])
    more = TermVectors.listed(connection, state["words"], before.size)
    numbers, rows = np.append(before.numbers, more.numbers), np.append(before.rows, more.rows)
    found = TermVectors(more.size, numbers, rows, read_stop_words(connection, more.size))
    if len(found) != state["vectors"] or found.checksum() != state["vectors_checksum"]:
        raise connection.damaged("the list of words")
    return found


def read_stop_words(connection: Database, size: int) -> Int64Array:
    """The numbers of the stop words that documents have, ascending; ``size`` is above every number of the state."""
    rows = connection.execute("SELECT * FROM words WHERE word >= ? AND word < ?", (MARK, AFTER_MARK))
    found = (row[0] for row in checked_rows(connection, rows))
    return np.array(sorted(number for number in found if number < size), dtype=np.int64)


def find_terms(connection: Database, column: str, values: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The numbers and spellings of words that have one of some values in a column, as far as they are listed."""
    rows = connection.select_in(f"SELECT * FROM words WHERE {column}", values)
    return (row[:2] for row in checked_rows(connection, rows))


def find_words(connection: Database, numbers: Sequence[int]) -> list[str]:
    """The words with these numbers, all of which must be there."""
    found = dict(find_terms(connection, "number", numbers))
    if len(found) < len(set(numbers)):
        raise connection.damaged("the list of words")
    return [found[number] for number in numbers]


class TermDictionary:
    """The dictionary as its one writer sees it; words that came in a transaction are in memory until it is stored."""

    def __init__(self, connection: Database, state: dict[str, Any], vocabulary: Vocabulary) -> None:
        self._connection = connection
        self.vocabulary = vocabulary
        vectors = read_vectors(connection, state)
        self.number_of_vector = vectors.number_of
        """The number of the word of each vector; -1 for one that no document has, as for all behind the last."""
        self.stop: list[int] = vectors.stop.tolist()
        """The numbers of stop words."""
        self.next = int(state["words"])
        """The number of the next new word."""
        self._numbers: dict[str, int] = {}
        """Words without a vector that were looked up."""
        self._new: dict[int, tuple[str, int | None]] = {}

    @classmethod
    def of_no_index(cls, vocabulary: Vocabulary) -> TermDictionary:
        """An empty dictionary in memory, which is not stored."""
        connection = sqlite3.connect(":memory:", factory=Database)
        connection.executescript(SCHEMA)
        return cls(connection, TermVectors.of(0, []).facts, vocabulary)

    def without_vectors(self) -> dict[str, int]:
        """The numbers of all words without a vector."""
        rows = checked_rows(self._connection, self._connection.execute("SELECT * FROM words WHERE vector IS NULL"))
        new = {word: number for number, (word, vector) in self._new.items() if vector is None}
        return {row[1]: row[0] for row in rows} | new

    def look_up(self, words: Iterable[str]) -> list[str]:
        """Have the numbers of some words at hand; those of them that have neither a vector nor a number."""
        find, known = self.vocabulary.finder, self._numbers
        new = [word for word in dict.fromkeys(words) if find(word, -1) < 0 and word not in known]
        known |= {word: number for number, word in find_terms(self._connection, "word", new)}
        return [word for word in new if word not in known]

    def number(self, word: str) -> int:
        """The number of a word without a vector that was looked up; a new one gets the next."""
        found = self._numbers.get(word)
        if found is None:
            found = self._numbers[word] = self.add(word)
        return found

    def numbers_of_vectors(self, rows: npt.NDArray[Any]) -> Int32Array:
        """The numbers of the words of some vectors; new ones get the next, in the order in which they come."""
        lacking = len(self.vocabulary) - len(self.number_of_vector)
        if lacking:  # vectors that no document had, or that were made meanwhile
            self.number_of_vector = np.append(self.number_of_vector, np.full(lacking, -1, dtype=np.int32))
        found: Int32Array = self.number_of_vector[rows]
        if len(found) and found.min() < 0:
            for row in dict.fromkeys(rows[found < 0].tolist()):
                self.number_of_vector[row] = self.add(self.vocabulary[row], row)
            found = self.number_of_vector[rows]
        return found

    def add(self, word: str, vector: int | None = None) -> int:
        """Give a word the next number."""
        self._new[self.next] = word, vector
        if is_marked(word):
            self.stop.append(self.next)
        self.next += 1
        return self.next - 1

    def new_words(self) -> Iterator[str]:
        """Words without a vector that came in this transaction, the last first."""
        return (word for word, vector in reversed(self._new.values()) if vector is None)

    def words(self, numbers: Sequence[int]) -> list[str]:
        """Words by their numbers."""
        new = self._new
        stored = iter(find_words(self._connection, [n for n in numbers if n not in new]))
        return [new[n][0] if n in new else next(stored) for n in numbers]

    def store(self, state: dict[str, Any]) -> None:
        """Put the new words into the table, in the order of their spelling, in which its index takes them fastest."""
        new = sorted(self._new.items(), key=lambda new: new[1][0])
        made = (term_row(number, word, vector) for number, (word, vector) in new)
        self._connection.executemany("INSERT INTO words VALUES(?, ?, ?, ?)", made)
        added = TermVectors.of(self.next, [(n, v) for n, (_, v) in self._new.items() if v is not None])
        state["vectors_checksum"] = added.checksum(state["vectors_checksum"])
        state["vectors"] += len(added)
        state["words"] = self.next
        self._new = {}

    def keep(self, state: dict[str, Any], used: BoolArray) -> bool:
        """Forget stored words that are not used; whether one that has a vector was among them."""
        unused = np.flatnonzero(~used).tolist()
        self._connection.executemany("DELETE FROM words WHERE number = ?", ((number,) for number in unused))
        before: int = state["vectors"]
        left = TermVectors.listed(self._connection, self.next)
        state |= left.facts
        return len(left) < before


class IndexVectors:
    """The embeddings of an index, of which :meth:`read` gives those of a state; these are the same for all states."""

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings

    def read(self, connection: Database, state: dict[str, Any]) -> Embeddings:
        """The embeddings that a state has."""
        return self.embeddings


class MadeVectors(IndexVectors):
    """Vectors that are made when words first come; ``facts`` are the name, place and dimensions of the model."""

    def __init__(self, facts: dict[str, Any], given: Any, folder: Path) -> None:
        self.facts, self._folder = facts, folder
        self._source: VectorSource | None = given
        self._checked = False
        self._mutex = Lock()
        self._table = VectorTable(facts["dimensions"], self._for_query)
        super().__init__(self._table.embeddings)

    def read(self, connection: Database, state: dict[str, Any]) -> Embeddings:
        with self._mutex:
            if state["made"] > len(self._table):
                for block in self.blocks(connection, len(self._table), state["made"]):
                    self._table.append(*block)
                self.embeddings = self._table.embeddings
            return self.embeddings

    def blocks(
        self, connection: Database, start: int, end: int
    ) -> Iterator[tuple[list[str], Float32Array, Float64Array]]:
        """Words, vectors and lengths of stored blocks, each held to its checksum."""
        query = "SELECT * FROM vectors WHERE first >= ? AND first < ? ORDER BY first"
        for row in connection.execute(query, (start, end)):
            first, words, vectors, lengths = connection.unsealed(row, "the list of vectors")
            if first != start:
                break
            yield (
                json.loads(words),
                np.frombuffer(vectors, "<f4").reshape(-1, self.facts["dimensions"]),
                np.frombuffer(lengths, "<f8"),
            )
            start += len(lengths) // 8
        if start != end:
            raise connection.damaged("the list of vectors")

    @property
    def source(self) -> VectorSource:
        """The model; WordferryError where it is not there, VocabularyMismatch for one that makes other vectors."""
        if self._source is None:
            from wordferry.words.loaders.demand import VectorSource

            place = self.facts["place"]
            self._source = None if place is None else VectorSource.of(place)
            if self._source is None:
                raise InputError(
                    f"The vectors of {self._folder} are made by {place or 'a model ' + repr(self.facts['name'])}, "
                    "which is not there. Open the index with embeddings=<the model>."
                )
        if not self._checked:
            stored = self.embeddings.stored
            again = self._source.made(list(stored.vocabulary[:_COMPARED]))
            if again is not None and not (
                again.matrix.shape == stored.matrix[: len(again)].shape
                and np.allclose(again.matrix, stored.matrix[: len(again)], atol=1e-2)
            ):
                raise VocabularyMismatch(
                    f"{self._source.name!r} makes other vectors than it did for the words of {self._folder}. Open "
                    "the index with the model it was made with, or give all words new vectors: Index.revector."
                )
            self._checked = True
        return self._source

    def _for_query(self, words: list[str]) -> Embeddings | None:
        """Vectors of words of a query that no document has; without the model there are none, which is said once."""
        try:
            return self.source.made(words)
        except VocabularyMismatch:
            raise
        except WordferryError as error:
            message = f"Words that no document has are compared by equal spelling only: {error}"
            warnings.warn(message, CoverageWarning, stacklevel=2)
            return None


class NewVectors:
    """The words of an index that have vectors as its one writer sees them, and how others get theirs.

    ``source`` gives the model when it is first needed, ``vocabulary`` begins with the words that are stored.
    """

    def __init__(
        self, source: Callable[[], VectorSource], vocabulary: GrowingVocabulary, progress: Progress | None = None
    ) -> None:
        self.source, self.vocabulary, self.progress = source, vocabulary, progress
        self._new: list[Embeddings] = []

    def make(self, words: Iterable[str]) -> dict[str, int]:
        """Make vectors for words that have none; the rows of those that now have one."""
        made = self.source().made(list(words), self.progress)
        if made is None:
            return {}
        start = len(self.vocabulary)
        self.vocabulary.append(made.vocabulary)
        self._new.append(made)
        return dict(zip(made.vocabulary, range(start, len(self.vocabulary)), strict=True))

    def store(self, connection: Database, state: dict[str, Any]) -> None:
        """Write what was made into the catalogue."""
        for made in self._new:
            for start in range(0, len(made), _BLOCK):
                span = slice(start, start + _BLOCK)
                lengths = np.ones(len(made)) if made.lengths is None else made.lengths
                words = json.dumps(made.vocabulary[span], ensure_ascii=False)
                values = (made.matrix[span].astype("<f4").tobytes(), lengths[span].astype("<f8").tobytes())
                connection.execute("INSERT INTO vectors VALUES(?, ?, ?, ?, ?)", sealed(state["made"], words, *values))
                state["made"] += len(made.vocabulary[span])
        self._new = []
