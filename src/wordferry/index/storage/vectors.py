"""Vectors that an index makes as words come: blocks of a table of the catalogue, to which others are only appended.

The blocks of a change are written in its transaction, so that a word and its vector are there together or not at all.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array
from wordferry.base.runtime import Progress
from wordferry.errors import InputError, VocabularyMismatch, WordferryError
from wordferry.index.storage.catalogue import Database, sealed
from wordferry.texts.coverage import CoverageWarning
from wordferry.words.embeddings import Embeddings
from wordferry.words.growing import GrowingVocabulary, VectorTable

if TYPE_CHECKING:
    from wordferry.words.loaders.demand import VectorSource

_BLOCK = 4096
_COMPARED = 4
"""Stored words whose vectors are made again, to tell the model of the index from another."""


class IndexVectors:
    """The embeddings of an index, of which :meth:`read` gives those of a state; these are the same for all states."""

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings

    def read(self, connection: Database, state: dict[str, Any]) -> Embeddings:
        """The embeddings that a state has."""
        return self.embeddings

    def verify(self, connection: Database, state: dict[str, Any]) -> None:
        """Compare what the catalogue holds of vectors with its checksums."""


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
                for block in self._blocks(connection, len(self._table), state["made"]):
                    self._table.append(*block)
                self.embeddings = self._table.embeddings
            return self.embeddings

    def _blocks(
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

    def verify(self, connection: Database, state: dict[str, Any]) -> None:
        """Compare every stored block with its checksum."""
        for _ in self._blocks(connection, 0, state["made"]):
            pass

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
    """The words of an index that have vectors as its one writer sees them, and how others get theirs."""

    def __init__(
        self, source: Callable[[], VectorSource], vocabulary: GrowingVocabulary, progress: Progress | None = None
    ) -> None:
        self.source, self.vocabulary, self.progress = source, vocabulary, progress
        self._new: list[Embeddings] = []

    @classmethod
    def of(cls, vectors: MadeVectors) -> NewVectors:
        """The writer's own list, which begins with the words that are stored."""
        return cls(lambda: vectors.source, GrowingVocabulary(vectors.embeddings.stored.vocabulary))

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
