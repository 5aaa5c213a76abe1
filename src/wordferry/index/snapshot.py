"""One state of an index as arrays, loaded once and shared by every search that sees that state."""

from __future__ import annotations

import sqlite3
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.base.arrays import BoolArray, Int64Array
from wordferry.errors import FormatError, WordferryError
from wordferry.index.catalogue import FILE, checksum, damaged, get_meta
from wordferry.index.filters import Condition
from wordferry.index.segments import Bags, Segment, join

_KEPT_MASKS = 16
_KEPT_SNAPSHOTS = 2


@dataclass(frozen=True)
class Part:
    """Some documents of a snapshot; equal keys mean the same documents."""

    key: tuple[Any, ...]
    bags: Bags
    start: int

    @property
    def span(self) -> slice:
        return slice(self.start, self.start + len(self.bags))


@dataclass(frozen=True)
class Snapshot:
    """Everything a search needs to know of one state: rows in the order in which documents were added."""

    generation: int
    epoch: int
    documents: int
    words: Int64Array
    """The words the graph covers, as rows of the embeddings, in the index's order."""
    graph: dict[str, Any] | None
    parts: tuple[Part, ...]
    numbers: Int64Array
    """The number of the document of each row, rising."""
    alive: BoolArray | None
    """Rows that are not deleted; None when none is."""
    segments: tuple[Segment, ...]
    _masks: OrderedDict[Condition, BoolArray] = field(default_factory=OrderedDict)

    def allowed(self, connection: sqlite3.Connection, condition: Condition | None) -> BoolArray | None:
        """The rows that are alive and pass a filter; None when that is all of them."""
        if condition is None:
            return self.alive
        found = self._masks.get(condition)
        if found is None:
            rows = connection.execute(f"SELECT number FROM documents WHERE {condition.sql}", condition.values)
            found = np.isin(self.numbers, np.fromiter((row[0] for row in rows), dtype=np.int64), assume_unique=True)
            self._masks[condition] = found
            while len(self._masks) > _KEPT_MASKS:
                self._masks.popitem(last=False)
        return found

    def live_rows(self) -> Int64Array:
        """The rows that are not deleted."""
        return np.arange(len(self.numbers)) if self.alive is None else np.flatnonzero(self.alive)

    def live_bags(self) -> Bags:
        """The bags of the documents that are not deleted."""
        everything = join([part.bags for part in self.parts])
        return everything if self.alive is None else everything.select(self.live_rows())


def matrix_of(bags: Bags, columns: int) -> sp.csr_array:
    """Bags as SciPy takes them, without copying."""
    return sp.csr_array((bags.counts, bags.words, bags.indptr), shape=(len(bags), columns))


class Snapshots:
    """Loads the snapshot of a transaction, reusing what earlier ones have mapped already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FILE
        self._mutex = Lock()
        self._recent: OrderedDict[int, Snapshot] = OrderedDict()
        self._bags: dict[str, Bags] = {}
        self._frozen: tuple[tuple[str, ...], Bags] | None = None

    def get(self, connection: sqlite3.Connection) -> Snapshot:
        """The snapshot of the state that the connection's transaction sees."""
        state = get_meta(connection, "state", self._file)
        if state is None:
            raise damaged(self._file, "the entry 'state' (it is missing)")
        with self._mutex:
            found = self._recent.get(state["generation"])
            if found is None:
                try:
                    found = self._load(connection, state)
                except (TypeError, ValueError, KeyError, OverflowError) as error:
                    if isinstance(error, WordferryError):
                        raise
                    raise FormatError(f"{self._file} is damaged: {error}. Restore the index from a copy.") from error
                self._recent[found.generation] = found
                while len(self._recent) > _KEPT_SNAPSHOTS:
                    self._recent.pop(min(self._recent))
            return found

    def _load(self, connection: sqlite3.Connection, state: dict[str, Any]) -> Snapshot:
        rows = connection.execute("SELECT * FROM segments ORDER BY first")
        segments = tuple(Segment.from_row(row, self._file) for row in rows)
        names = tuple(segment.name for segment in segments)
        mapped = {s.name: self._bags.get(s.name) or s.read(self._folder) for s in segments}
        self._bags = mapped
        if self._frozen is None or self._frozen[0] != names:
            self._frozen = names, join(list(mapped.values()))
        frozen = self._frozen[1]
        buffer = read_buffer(connection, self._file)
        generation = state["generation"]
        parts = (Part(("segments", names), frozen, 0), Part(("buffer", generation), buffer, len(frozen)))
        numbers = np.concatenate([frozen.numbers, buffer.numbers])
        dead = np.array([row[0] for row in connection.execute("SELECT number FROM tombstones")], dtype=np.int64)
        alive = ~np.isin(numbers, dead, assume_unique=True) if len(dead) else None
        living = numbers if alive is None else numbers[alive]
        if len(living) != state["documents"] or int(living.sum()) != state["number_sum"]:
            raise damaged(self._file, "the list of living documents")
        return Snapshot(
            generation=generation,
            epoch=state["epoch"],
            documents=state["documents"],
            words=self._words(connection, state),
            graph=get_meta(connection, "graph", self._file),
            parts=tuple(part for part in parts if len(part.bags)),
            numbers=numbers,
            alive=alive,
            segments=segments,
        )

    def _words(self, connection: sqlite3.Connection, state: dict[str, Any]) -> Int64Array:
        """The words of the numbering; those of an earlier snapshot of the same numbering are a prefix."""
        same = (s.words for s in self._recent.values() if s.epoch == state["epoch"])
        known = max(same, key=len, default=np.zeros(0, dtype=np.int64))[: state["words"]]
        rows = connection.execute("SELECT id FROM words WHERE number >= ? ORDER BY number", (len(known),))
        words: Int64Array = np.concatenate([known, np.fromiter((row[0] for row in rows), dtype=np.int64)])
        if len(words) != state["words"] or words_checksum(words) != state["words_checksum"]:
            raise damaged(self._file, "the list of words")
        return words


def words_checksum(words: Any, before: int = 0) -> int:
    """CRC-32 of the ids of words in their order; of more words than before, when that one's is given."""
    return zlib.crc32(np.asarray(words, dtype="<i8").tobytes(), before)


def read_buffer(connection: sqlite3.Connection, file: Path) -> Bags:
    """The documents that wait for a segment."""
    numbers, words, counts, lengths = [], [], [], [0]
    for number, one, many, stored in connection.execute("SELECT * FROM buffer ORDER BY number"):
        if checksum(number, one, many) != stored:
            raise damaged(file, f"the bag of words of document number {number}")
        numbers.append(number)
        words.append(one)
        counts.append(many)
        lengths.append(len(one) // 4)
    return Bags(
        np.cumsum(lengths, dtype=np.int64),
        np.frombuffer(b"".join(words), dtype="<i4").astype(np.int32, copy=False),
        np.frombuffer(b"".join(counts), dtype="<i4").astype(np.int32, copy=False),
        np.array(numbers, dtype=np.int64),
    )
