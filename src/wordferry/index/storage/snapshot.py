"""One state of an index as arrays, loaded once and shared by every search that sees that state."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Int64Array
from wordferry.encoders.codes import Codes
from wordferry.errors import FormatError, ReplacedError, WordferryError
from wordferry.index.results import Document
from wordferry.index.search.filters import Condition
from wordferry.index.storage.catalogue import DOCUMENT_COLUMNS, Database, number_of
from wordferry.index.storage.columns import Columns, Gathering, document_fields
from wordferry.index.storage.segments import Bags, Segment, SegmentRows, with_remedy
from wordferry.index.storage.stored_weights import StoredWeights
from wordferry.index.storage.terms import IndexVectors, TermVectors, read_vectors
from wordferry.index.storage.texts import Unpacker, read_documents
from wordferry.kernels.lists import COUNTS
from wordferry.words.embeddings import Embeddings

_KEPT_MASKS = 16
_KEPT_SNAPSHOTS = 2


class Part(NamedTuple):
    """Some documents of a snapshot; equal keys mean the same documents."""

    key: tuple[Any, ...]
    rows: SegmentRows
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
    terms: TermVectors
    """The words that have a vector; the graph covers them, in this order."""
    embeddings: Embeddings
    graph: dict[str, Any] | None
    """The related words on the disk, as the catalogue names them, if they number words as this state does."""
    parts: tuple[Part, ...]
    numbers: npt.NDArray[Any]
    """The number of the document of each row, ascending."""
    alive: BoolArray | None
    """Rows that are not deleted; None when none is."""
    segments: tuple[Segment, ...]
    state: dict[str, Any]
    """What the catalogue says of the whole."""
    weights: StoredWeights | None
    """What words and documents weighed in this state or an earlier one."""
    fields: frozenset[str]
    """Fields that documents of other shards have."""
    _masks: OrderedDict[Any, BoolArray] = field(default_factory=OrderedDict)
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
        """How many rows a mask allows."""
        return self.documents if mask is None or mask is self.alive else int(np.count_nonzero(mask))

    def has_living(self, identifier: str) -> bool:
        """Whether a row with this id is alive: what the catalogue says of an id can be held to it."""
        found = ((part.span, part.rows.columns.rows_with_id(identifier)) for part in self.parts)
        return any(len(rows) and (self.alive is None or self.alive[span][rows].any()) for span, rows in found)

    def tokens(self, *, known: bool = False) -> float:
        """The tokens of the living documents that are no stop words, or those of them that have a vector."""
        counted, total = (self.terms.row_of >= 0).astype(np.float64) if known else None, 0.0
        for part in self.parts:
            with reading_parts(part):
                own = part.rows.lengths if counted is None else part.rows.stored.sums(counted, False, COUNTS, 1)
            total += float((own if self.alive is None else own[self.alive[part.span]]).sum(dtype=np.float64))
        return total

    def rows(self, mask: BoolArray | None, start: int = 0) -> Int64Array:
        """The rows from ``start`` on that a mask allows; None allows every one."""
        return np.arange(start, len(self.numbers)) if mask is None else start + np.flatnonzero(mask[start:])

    def codes_of(self, rows: Int64Array) -> Codes:
        """The vectors of some rows, given in ascending order, of an index whose documents have them."""
        parts = []
        for part in self.parts:
            inside: BoolArray = (rows >= part.span.start) & (rows < part.span.stop)
            assert part.bags.codes is not None
            parts.append(part.bags.codes.select(rows[inside] - part.start))
        return Codes.join(parts)


class OpenState(NamedTuple):
    """A state of an index while it is read: the transaction, and the arrays that belong to it."""

    connection: Database
    snapshot: Snapshot

    def row(self, identifier: str) -> int | None:
        """The row of the document with an id; None where there is none."""
        number, numbers = number_of(self.connection, identifier), self.snapshot.numbers
        if number is None and not self.snapshot.has_living(identifier):
            return None
        place = len(numbers) if number is None else int(np.searchsorted(numbers, number))
        if place == len(numbers) or numbers[place] != number:
            raise self.connection.damaged(f"the entry of document {identifier!r} (it cannot be found)")
        return place

    def allowed(self, condition: Condition | None, without: str | None) -> BoolArray | None:
        """The rows that are alive and pass a filter, less that of a document; None when that is all of them."""
        mask = self.snapshot.allowed(condition)
        row = None if without is None else self.row(without)
        if row is not None:
            mask = np.ones(len(self.snapshot.numbers), dtype=bool) if mask is None else mask.copy()
            mask[row] = False
        return mask

    def read(self, rows: Iterable[int]) -> dict[int, Document]:
        """The documents of some rows, by row and in the order of rows; a row that comes twice is read once."""
        places = sorted(set(rows))
        found = read_documents(self.connection, self.snapshot.numbers[places].tolist())
        return dict(zip(places, found, strict=True))


class Snapshots:
    """Loads the snapshot of a transaction, reusing what earlier ones have mapped already."""

    def __init__(self, folder: Path, fingerprint: str, vectors: IndexVectors, fields: frozenset[str]) -> None:
        self._folder = folder
        self._vectors = vectors
        self._fingerprint = fingerprint
        self._fields = fields
        self._mutex = Lock()
        self._recent: OrderedDict[int, Snapshot] = OrderedDict()
        self._rows: dict[str, SegmentRows] = {}
        self._weights: tuple[str, StoredWeights | None] = "", None

    def get(self, connection: Database) -> Snapshot:
        """The snapshot of the state that the connection's transaction sees."""
        state = connection.meta("state")
        if state is None:
            raise connection.damaged("the entry 'state' (it is missing)")
        if state["fingerprint"] != self._fingerprint:
            raise ReplacedError(f"The word vectors of {self._folder} were replaced after it was opened. Open it again.")
        with self._mutex:
            found = self._recent.get(state["generation"])
            if found is None:
                try:
                    found = self._load(connection, state)
                except (TypeError, ValueError, KeyError, OverflowError) as error:
                    if isinstance(error, WordferryError):
                        raise
                    raise FormatError(
                        f"{connection.file} is damaged: {error}. Restore the index from a copy."
                    ) from error
                self._recent[found.generation] = found
                while len(self._recent) > _KEPT_SNAPSHOTS:
                    self._recent.pop(min(self._recent))
            return found

    def _load(self, connection: Database, state: dict[str, Any]) -> Snapshot:
        segments = tuple(Segment.listed(connection))
        mapped = {s.name: self._rows.get(s.name) or s.read(self._folder) for s in segments}
        self._rows = mapped
        generation = state["generation"]
        buffer = read_buffer(connection)
        weights = self._stored_weights(connection, state, mapped)
        terms = self._terms(connection, state, weights)
        loose = SegmentRows.of(buffer, columns_of(connection, buffer.numbers), terms.stop)
        parts: list[Part] = []
        for name, some in {**mapped, "": loose}.items():
            if len(some):
                key = ("segment", name) if name else ("buffer", generation)
                parts.append(Part(key, some, parts[-1].span.stop if parts else 0))
        numbers = np.concatenate([np.zeros(0, np.int32), *(part.rows.bags.numbers for part in parts)])
        alive, graph = self._alive(connection, numbers, state), connection.meta("graph")
        return Snapshot(
            generation=generation,
            epoch=state["epoch"],
            documents=state["documents"],
            terms=terms,
            embeddings=self._vectors.read(connection, state),
            graph=graph if graph and graph["epoch"] == state["epoch"] else None,
            parts=tuple(parts),
            numbers=numbers,
            alive=alive,
            segments=segments,
            state=state,
            weights=weights,
            fields=self._fields,
        )

    def _alive(self, connection: Database, numbers: npt.NDArray[Any], state: dict[str, Any]) -> BoolArray | None:
        """The rows that are not deleted, held to what the state says of them; None when none is deleted."""
        dead = np.array([row[0] for row in connection.execute("SELECT number FROM tombstones")], dtype=np.int64)
        alive = ~np.isin(numbers, dead) if len(dead) else None
        left = numbers if alive is None else numbers[alive]
        if len(left) != state["documents"] or left.sum(dtype=np.int64) != state["number_sum"]:
            raise connection.damaged("the list of living documents")
        return alive

    def _stored_weights(
        self, connection: Database, state: dict[str, Any], mapped: dict[str, SegmentRows]
    ) -> StoredWeights | None:
        """The stored weights, where all segments that they cover are still there."""
        record = connection.meta("weights")
        if record is None or not all(name in mapped for name in record["segments"]):
            return None
        if self._weights[0] != record["name"]:
            self._weights = record["name"], StoredWeights.read(self._folder, record)
        found = self._weights[1]
        return found if found is not None and found.config["epoch"] == state["epoch"] else None

    def _terms(self, connection: Database, state: dict[str, Any], weights: StoredWeights | None) -> TermVectors:
        """The words with vectors; those of an earlier state of this epoch are a prefix."""
        same = [s.terms for s in self._recent.values() if s.epoch == state["epoch"]]
        same += [] if weights is None else [weights.vectors]
        known = [terms for terms in same if terms.size <= state["words"]]
        return read_vectors(connection, state, max(known, key=len, default=None))


def read_buffer(connection: Database) -> Bags:
    """The documents that wait for a segment."""
    rows = [
        connection.unsealed(row, "the bag of words of document number {}")
        for row in connection.execute("SELECT * FROM buffer ORDER BY number")
    ]
    indptr = np.cumsum([0, *(len(row[1]) // 4 for row in rows)], dtype=np.int64)
    words, counts = (np.frombuffer(b"".join(row[p] for row in rows), "<i4").astype(np.int32) for p in (1, 2))
    codes = None
    if rows and rows[0][3] is not None:
        codes = Codes.stored(np.frombuffer(b"".join(row[3] for row in rows), dtype=np.int8).reshape(len(rows), -1))
    return Bags(indptr, words, counts, np.array([row[0] for row in rows], dtype=np.int64), codes)


def columns_of(connection: Database, numbers: Int64Array) -> Columns:
    """The fields of the documents with these numbers, which ascend."""
    gathered, found, whole = Gathering(), [], Unpacker(connection)
    first, last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (0, -1)
    query = f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE number BETWEEN ? AND ? ORDER BY number"
    for row in connection.execute(query, (first, last)):
        found.append(row[0])
        _, identifier, _, _, label, metadata, *_ = whole.checked(row)
        gathered.put([document_fields(identifier, label, {} if metadata == "{}" else json.loads(metadata))])
    if not np.array_equal(numbers, found):
        raise connection.damaged(f"the list of the documents {first} to {last}")
    return gathered.columns()


@contextmanager
def reading_parts(*parts: Part) -> Iterator[None]:
    """Turn what is said of arrays that cannot be what was written into the error for damaged parts.

    Of several, ``verify`` says which one is damaged.
    """
    try:
        yield
    except (IndexError, ValueError) as error:
        names = " or ".join(f"{part.key[0]} {part.key[1]}" for part in parts)
        raise with_remedy(FormatError(f"{names} of the index is damaged: {error}.")) from None
