"""One state of an index as arrays, loaded once and shared by every search that sees that state."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.errors import FormatError, WordferryError
from wordferry.index.catalogue import DOCUMENT_COLUMNS, FILE, checksum, damaged, get_meta, get_state
from wordferry.index.columns import Columns, document_fields
from wordferry.index.filters import Condition
from wordferry.index.numbers import Numbers, Span
from wordferry.index.others import Counts
from wordferry.index.packs import Unpacker
from wordferry.index.segments import Bags, Rows, Segment, join, with_remedy

_KEPT_MASKS = 16
_KEPT_SNAPSHOTS = 2


@dataclass(frozen=True)
class Part:
    """Some documents of a snapshot; equal keys mean the same documents."""

    key: tuple[Any, ...]
    rows: Rows
    start: int

    @property
    def bags(self) -> Bags:
        return self.rows.bags

    @property
    def span(self) -> slice:
        return slice(self.start, self.start + len(self.rows))


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
    numbers: Numbers
    """The number of the document of each row, rising."""
    alive: BoolArray | None
    """Rows that are not deleted; None when none is."""
    segments: tuple[Segment, ...]
    state: dict[str, Any]
    """What the catalogue says of the whole."""
    fields: frozenset[str] = frozenset()
    """Fields that documents of other shards have."""
    _unseen: list[bool] = field(default_factory=list)
    _masks: OrderedDict[Any, BoolArray] = field(default_factory=OrderedDict)
    _counted: list[tuple[BoolArray, int] | None] = field(default_factory=lambda: [None])
    _mutex: Lock = field(default_factory=Lock)

    def allowed(self, condition: Condition | None) -> BoolArray | None:
        """The rows that are alive and pass a filter; None when that is all of them."""
        if condition is None or not self.parts:
            return self.alive
        with self._mutex:
            found = self._masks.get(condition.key)
        if found is not None:
            return found
        condition.check_fields([part.rows.columns for part in self.parts], self.fields)
        try:
            found = np.concatenate([condition.passed(part.rows.columns) for part in self.parts])
        except (IndexError, ValueError, UnicodeDecodeError) as error:
            raise with_remedy(FormatError(f"The metadata of a segment is damaged: {error}.")) from None
        if self.alive is not None:
            found &= self.alive
        with self._mutex:
            self._masks[condition.key] = found
            while len(self._masks) > _KEPT_MASKS:
                self._masks.popitem(last=False)
        return found

    def count(self, mask: BoolArray | None) -> int:
        """How many rows a mask allows; counted once for masks of this snapshot."""
        if mask is None:
            return len(self.numbers)
        if mask is self.alive:
            return self.documents
        with self._mutex:
            kept = self._counted[0]
        if kept is None or kept[0] is not mask:
            kept = mask, int(np.count_nonzero(mask))
            with self._mutex:
                self._counted[0] = kept
        return kept[1]

    def first_search(self) -> bool:
        """True once, for the first search after an index was opened, when nothing of its files is mapped yet."""
        with self._mutex:
            return bool(self._unseen) and self._unseen.pop()

    @cached_property
    def longest_id(self) -> int:
        """The bytes of the longest id."""
        return max((part.rows.columns.longest_id for part in self.parts), default=0)

    def has_living(self, identifier: str) -> bool:
        """Whether a row with this id is alive: what the catalogue says of an id can be held to it."""
        for part in self.parts:
            rows = part.rows.columns.rows_with_id(identifier)
            if len(rows) and (self.alive is None or self.alive[part.span][rows].any()):
                return True
        return False

    def places_after(self, number: int, allowed: BoolArray | None) -> Int64Array:
        """The rows of the documents after a number that a mask allows; None allows every one."""
        start = self.numbers.after(number)
        if allowed is None:
            return np.arange(start, len(self.numbers))
        return start + np.flatnonzero(allowed[start:])

    @property
    def pairs(self) -> int:
        """Distinct (word, document) pairs of the documents that are not deleted."""
        lengths = [np.diff(part.bags.indptr) for part in self.parts]
        if self.alive is None or not lengths:
            return sum(int(some.sum()) for some in lengths)
        return int(np.concatenate(lengths)[self.alive].sum())

    def live_rows(self) -> Int64Array:
        """The rows that are not deleted."""
        return np.arange(len(self.numbers)) if self.alive is None else np.flatnonzero(self.alive)

    def bags_of(self, rows: Int64Array) -> Bags:
        """The bags of some rows, given in rising order."""
        parts = []
        for part in self.parts:
            inside: BoolArray = (rows >= part.span.start) & (rows < part.span.stop)
            parts.append(part.bags.select(rows[inside] - part.start))
        return join(parts)

    def live_bags(self) -> Bags:
        """The bags of the documents that are not deleted."""
        everything = join([part.bags for part in self.parts])
        return everything if self.alive is None else everything.select(self.live_rows())


def matrix_of(bags: Bags, columns: int) -> sp.csr_array:
    """Bags as SciPy takes them."""
    return sp.csr_array((bags.counts.astype(np.int32), bags.words, bags.indptr), shape=(len(bags), columns))


class Snapshots:
    """Loads the snapshot of a transaction, reusing what earlier ones have mapped already."""

    def __init__(self, folder: Path, fields: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self._fields = fields
        self._file = folder / FILE
        self._mutex = Lock()
        self._recent: OrderedDict[int, Snapshot] = OrderedDict()
        self._rows: dict[str, Rows] = {}
        self._spans: dict[str, Span] = {}

    def get(self, connection: sqlite3.Connection) -> Snapshot:
        """The snapshot of the state that the connection's transaction sees."""
        state = get_state(connection, self._file)
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
        unseen = [] if self._rows else [True]
        mapped = {s.name: self._rows.get(s.name) or s.read(self._folder) for s in segments}
        self._rows = mapped
        generation = state["generation"]
        buffer = read_buffer(connection, self._file)
        loose = Rows.of(buffer, columns_of(connection, buffer.numbers, self._file))
        named: list[tuple[tuple[Any, ...], Rows]] = [(("segment", name), one) for name, one in mapped.items()]
        parts: list[Part] = []
        for key, some in [*named, (("buffer", generation), loose)]:
            if len(some):
                parts.append(Part(key, some, parts[-1].span.stop if parts else 0))
        numbers = self._numbers(segments, mapped, loose)
        alive = self._alive(connection, numbers, state)
        return Snapshot(
            generation=generation,
            epoch=state["epoch"],
            documents=state["documents"],
            words=self._words(connection, state),
            graph=get_meta(connection, "graph", self._file),
            parts=tuple(parts),
            numbers=numbers,
            alive=alive,
            segments=segments,
            state=state,
            fields=self._fields,
            _unseen=unseen,
        )

    def _numbers(self, segments: Sequence[Segment], mapped: dict[str, Rows], loose: Rows) -> Numbers:
        """The numbers of all rows; sums over those of a segment are kept as long as it is."""
        known = self._spans
        spans = {s.name: known.get(s.name) or Span(mapped[s.name].bags.numbers, s.first, s.last) for s in segments}
        self._spans = spans
        waiting = loose.bags.numbers
        last = [Span(waiting, int(waiting[0]), int(waiting[-1]))] if len(waiting) else []
        return Numbers([*(span for span in spans.values() if len(span)), *last])

    def _alive(self, connection: sqlite3.Connection, numbers: Numbers, state: dict[str, Any]) -> BoolArray | None:
        """The rows that are not deleted, held to what the state says of them; None when none is deleted."""
        dead = np.array([row[0] for row in connection.execute("SELECT number FROM tombstones")], dtype=np.int64)
        alive, count, total = None, len(numbers), numbers.total
        if len(dead):
            rows, lost = numbers.rows(dead)
            alive = np.ones(len(numbers), dtype=bool)
            alive[rows] = False
            count, total = count - len(rows), total - lost
        if count != state["documents"] or total != state["number_sum"]:
            raise damaged(self._file, "the list of living documents")
        return alive

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
    rows = connection.execute("SELECT * FROM buffer ORDER BY number").fetchall()
    for *values, stored in rows:
        if checksum(*values) != stored:
            raise damaged(file, f"the bag of words of document number {values[0]}")
    known, others = (
        Counts(
            np.cumsum([0, *(len(row[place]) // 4 for row in rows)], dtype=np.int64),
            *(np.frombuffer(b"".join(row[p] for row in rows), "<i4").astype(np.int32) for p in (place, place + 1)),
        )
        for place in (1, 3)
    )
    return Bags(*known, np.array([row[0] for row in rows], dtype=np.int64), others)


def columns_of(connection: sqlite3.Connection, numbers: Int64Array, file: Path) -> Columns:
    """The fields of the documents with these numbers, which rise."""
    if not len(numbers):
        return Columns.gather([])
    found: list[int] = []
    whole = Unpacker(connection, file)

    def rows() -> Iterator[dict[str, Any]]:
        span = (int(numbers[0]), int(numbers[-1]))
        query = f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
        for row in connection.execute(query, span):
            found.append(row[0])
            _, identifier, _, _, label, metadata, *_ = whole.checked(row)
            yield document_fields(identifier, label, {} if metadata == "{}" else json.loads(metadata))

    columns = Columns.gather(rows())
    if not np.array_equal(numbers, found):
        raise damaged(file, f"the list of the documents {numbers[0]} to {numbers[-1]}")
    return columns


def damaged_among(parts: Sequence[Part], error: Exception) -> FormatError:
    """The error for parts of which the kernel says that one is damaged; ``verify`` says which."""
    names = " or ".join(str(part.key[1]) for part in parts)
    return with_remedy(FormatError(f"Segment {names} of the index is damaged: {error}."))


def damaged_part(part: Part, error: Exception) -> FormatError:
    """The error for a part whose arrays cannot be what was written."""
    return with_remedy(FormatError(f"{part.key[0]} {part.key[1]} of the index is damaged: {error}."))
