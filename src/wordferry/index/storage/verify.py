"""Sizes and counts of an index; and checking it byte by byte: all of its parts, and that they agree."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int64Array
from wordferry.base.frames import Facts
from wordferry.encoders.codes import scales_of
from wordferry.errors import FormatError, WordferryError
from wordferry.index.config import Config
from wordferry.index.storage.catalogue import (
    DOCUMENT_COLUMNS,
    FILE,
    FORMAT,
    Catalogue,
    Database,
    checksum,
    translate,
)
from wordferry.index.storage.graph import Graphs
from wordferry.index.storage.segments import FOLDER as SEGMENTS
from wordferry.index.storage.segments import GRAPH, Bags, Segment, SegmentRows, check_manifest, join
from wordferry.index.storage.snapshot import OpenState, read_buffer
from wordferry.index.storage.stems import WordKeys
from wordferry.index.storage.stored_weights import StoredWeights
from wordferry.index.storage.terms import TermRow, TermVectors, checked_rows, find_words, read_stop_words, read_vectors
from wordferry.index.storage.texts import Unpacker, dictionary
from wordferry.index.storage.vectors import IndexVectors


@dataclass(frozen=True)
class Verification(Facts):
    """What was compared and found right."""

    documents: int
    segments: int
    pairs: int
    words: int
    graph_words: int
    bytes: int
    """Of all files of the index."""


@dataclass(frozen=True)
class Stats(Facts):
    """What :meth:`Index.stats` tells."""

    documents: int
    words: int
    """Words with a vector: those that the graph of related words covers, or will when it is next needed."""
    pairs: int
    """Distinct (word, document) pairs of the documents that are not deleted."""
    tokens: int
    coverage: float
    """The share of all tokens that have a vector."""
    distance: str
    weights: str
    unknown: str
    language: str
    r: int
    graph_words: int
    """Words that the graph on the disk covers."""
    segments: int
    buffered: int
    deleted: int
    """Rows of segments whose documents are deleted, until the next compaction."""
    format: int
    bytes: int
    bytes_catalogue: int
    bytes_segments: int
    bytes_graph: int
    bytes_embeddings: int
    bytes_per_pair: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Checker:
    """Runs the checks and collects what is wrong."""

    catalogue: Catalogue
    config: Config
    vectors: IndexVectors
    graphs: Graphs
    problems: list[str] = field(default_factory=list)
    _used: list[Int64Array] = field(default_factory=list)
    """The words of each part."""
    _dimensions: set[int] = field(default_factory=set)
    """Those of the vectors of all parts, 0 for a part without vectors."""

    @cached_property
    def _keys(self) -> WordKeys:
        return WordKeys(self.config.language)

    def run(self) -> Verification:
        """All checks; FormatError lists everything that is wrong."""
        found: Verification | None = None
        with self.catalogue.reading() as connection:
            try:
                found = self._check_all(connection)
            except sqlite3.Error as error:
                self.problems.append(str(translate(error, self.catalogue.file)))
        if self.problems or found is None:
            raise FormatError("The index is damaged. " + " | ".join(self.problems))
        return found

    def _check_all(self, connection: Database) -> Verification:
        file = self.catalogue.file
        connection.kept.clear()
        for (line,) in connection.execute("PRAGMA integrity_check"):
            if line != "ok":
                self.problems.append(f"{file}: {line}.")
        self._check_meta(connection)
        numbers = self._check_documents(connection)
        segmented, segments, pairs = self._check_segments(connection)
        buffer = self._attempt(lambda: read_buffer(connection)) or join([])
        self._use(buffer)
        dead = np.array([row[0] for row in connection.execute("SELECT number FROM tombstones")], dtype=np.int64)
        self._check_rows(numbers, segmented, buffer.numbers, dead)
        state = self._attempt(lambda: connection.meta("state")) or {}
        words = self._check_words(connection, state)
        self._dimensions |= {0 if buffer.codes is None else buffer.codes.dimension} if len(buffer) else set()
        if state and self._dimensions - {state.get("dimension", 0)}:
            self.problems.append(f"{file}: the vectors of documents are not of the dimension that the state says.")
        covered = self._check_graph(connection, state, words)
        self._check_embeddings()
        weights = self._attempt(lambda: connection.meta("weights"))
        if weights is not None:
            self._attempt(lambda: StoredWeights.read(self.catalogue.folder, weights, verify=True))
        if state and (state["documents"] != len(numbers) or (len(numbers) and numbers[-1] >= state["next_number"])):
            self.problems.append(
                f"{file}: the number of documents is {len(numbers)}, the state says {state['documents']}."
            )
        size = files_bytes(self.catalogue.folder.rglob("*"))
        return Verification(len(numbers), segments, pairs + buffer.pairs, state.get("words", 0), covered, size)

    def _attempt(self, action: Callable[[], Any]) -> Any:
        """The result, or None with the error noted."""
        try:
            return action()
        except storage.MissingFile:  # a writer may have compacted it away: whoever called looks again
            raise
        except (WordferryError, OSError, ValueError, KeyError, TypeError) as error:
            self.problems.append(str(error))
            return None

    def _check_meta(self, connection: Database) -> None:
        for key, value, stored in connection.execute("SELECT key, value, checksum FROM meta"):
            if checksum(key, value) != stored:
                self.problems.append(
                    f"{self.catalogue.file} is damaged: the entry {key!r} does not match its checksum."
                )
        missing = {"config", "state", "identity"} - {row[0] for row in connection.execute("SELECT key FROM meta")}
        if missing:
            self.problems.append(f"{self.catalogue.file} is damaged: the entries {sorted(missing)} are missing.")

    def _check_documents(self, connection: Database) -> Int64Array:
        numbers = []
        for (number,) in connection.execute("SELECT number FROM dictionaries").fetchall():
            self._attempt(lambda: dictionary(connection, number))  # noqa: B023 - called at once
        whole = Unpacker(connection)
        for row in connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents ORDER BY number"):
            numbers.append(row[0])
            self._attempt(lambda: json.loads(whole.checked(row)[5]))  # noqa: B023 - called at once
        return np.array(numbers, dtype=np.int64)

    def _check_segments(self, connection: Database) -> tuple[Int64Array, int, int]:
        """The numbers of the rows of all segments, how many segments and pairs; one segment is looked at at a time."""
        numbers, pairs = [np.zeros(0, dtype=np.int64)], 0
        stop = self._attempt(lambda: read_stop_words(connection, sys.maxsize))
        stop = np.zeros(0, np.int64) if stop is None else stop
        for row in connection.execute("SELECT * FROM segments ORDER BY first"):
            segment = self._attempt(lambda: Segment.of(row, connection))  # noqa: B023
            rows = self._attempt(lambda: segment.read(self.catalogue.folder, verify=True)) if segment else None  # noqa: B023
            if rows is None:
                continue
            bags = rows.bags
            if bags.numbers[0] != segment.first or bags.numbers[-1] != segment.last:
                self.problems.append(f"Segment {segment.name} holds other documents than the catalogue says.")
            again = SegmentRows.of(bags, rows.columns, stop)
            stored, made = ([one.lengths, *one.lists.arrays.values()] for one in (rows, again))
            if rows.longest != again.longest or not all(map(np.array_equal, stored, made)):
                self.problems.append(f"Segment {segment.name}: its lists do not agree with its bags of words.")
            if bags.codes is not None and not np.array_equal(bags.codes.scales, scales_of(bags.codes.codes)):
                self.problems.append(
                    f"Segment {segment.name}: the scales of its vectors do not agree with their codes."
                )
            if not self._attempt(lambda: self._stems_agree(rows, connection)):  # noqa: B023
                self.problems.append(f"Segment {segment.name}: its stems do not agree with its words.")
            self._use(bags)
            self._dimensions.add(0 if bags.codes is None else bags.codes.dimension)
            numbers.append(np.array(bags.numbers))
            pairs += bags.pairs
        return np.concatenate(numbers), len(numbers) - 1, pairs

    def _stems_agree(self, rows: SegmentRows, connection: Database) -> bool:
        """Whether the stems of a segment are those of its words; another version of the stemmer may give others."""
        stored = rows.stems
        if stored is None or stored.edition != self._keys.edition:
            return True
        return stored.same(self._keys.stems(rows, partial(find_words, connection)))

    def _use(self, bags: Bags) -> None:
        """Note the words of some bags."""
        self._used.append(np.unique(bags.words).astype(np.int64))

    def _check_rows(self, documents: Int64Array, segmented: Int64Array, buffered: Int64Array, dead: Int64Array) -> None:
        """Every document has exactly one bag, and every bag that is not deleted has its document."""
        file = self.catalogue.file
        if not np.isin(dead, segmented).all():
            self.problems.append(f"{file}: documents are marked deleted that no segment holds.")
        live = np.concatenate([segmented[~np.isin(segmented, dead)], buffered])
        if np.any(np.diff(live) <= 0):
            self.problems.append(f"{file}: the documents of segments and buffer are not in order.")
        if not np.array_equal(live, documents):
            lost = len(np.setdiff1d(documents, live))
            extra = len(np.setdiff1d(live, documents))
            self.problems.append(f"{file}: {lost} documents have no bag of words, {extra} bags have no document.")

    def _check_words(self, connection: Database, state: dict[str, Any]) -> TermVectors | None:
        """Every row of the dictionary, and that it has every word that documents have."""
        file = self.catalogue.file
        self._attempt(lambda: self.vectors.verify(connection, state))
        embeddings = self._attempt(lambda: self.vectors.read(connection, state))
        vocabulary = (embeddings or self.vectors.embeddings).vocabulary
        query = connection.execute("SELECT * FROM words ORDER BY number")
        rows: list[TermRow] = self._attempt(lambda: list(checked_rows(connection, query))) or []
        for number, word, vector, _ in rows:
            right = vocabulary.get(word) < 0 if vector is None else vocabulary.get(word) == vector
            if not right or not 0 <= number < state.get("words", 0):
                self.problems.append(f"{file}: the entry of word {number} ({word!r}) is damaged.")
                return None
        listed = np.array([row[0] for row in rows], dtype=np.int64)
        if not np.isin(np.concatenate(self._used), listed).all():
            self.problems.append(f"{file}: documents have words that are not listed.")
        found: TermVectors | None = self._attempt(lambda: read_vectors(connection, state)) if state else None
        return found

    def _check_graph(self, connection: Database, state: dict[str, Any], words: TermVectors | None) -> int:
        stored = self._attempt(lambda: connection.meta("graph"))
        covered, rows = 0, np.zeros(0, np.int64) if words is None else words.rows
        for record in (self.config.base, stored):
            current = record is not None and (record is self.config.base or record["epoch"] == state.get("epoch"))
            if record is not None and current and record["words"] <= len(rows):
                related = self._attempt(lambda: self.graphs.load(record, rows[: record["words"]], compare=True))  # noqa: B023
                covered = record["words"] if related is not None else covered
        return int(covered)

    def _check_embeddings(self) -> None:
        if self.config.keep == "copy":
            place = self.catalogue.folder / self.config.copied
            self._attempt(lambda: check_manifest(place, str(self.config.manifest)))
            self._attempt(lambda: storage.verify_folder(place))
        elif self.config.keep == "path" and self.vectors.embeddings.fingerprint != self.config.fingerprint:
            self.problems.append(f"The word vectors at {self.config.path} are not those the index was made with.")


def files_bytes(files: Iterable[Path]) -> int:
    """Bytes of some files, of which a writer may remove one in this moment."""
    total = 0
    for file in files:
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def collect(folder: Path, config: Config, state: OpenState) -> Stats:
    """Count one state of an index."""
    connection, snapshot = state
    tokens, known = snapshot.tokens(), snapshot.tokens(known=True)
    pairs = snapshot.pairs
    total = files_bytes(folder.rglob("*"))
    graph = snapshot.graph
    return Stats(
        documents=snapshot.documents,
        words=len(snapshot.terms),
        pairs=pairs,
        tokens=int(tokens),
        coverage=known / tokens if tokens else 1.0,
        distance=config.distance,
        weights=config.weights,
        unknown=config.unknown,
        language=config.language,
        r=config.r,
        graph_words=graph["words"] if graph and graph["epoch"] == snapshot.epoch else 0,
        segments=len(snapshot.segments),
        buffered=connection.execute("SELECT count(*) FROM buffer").fetchone()[0],
        deleted=connection.execute("SELECT count(*) FROM tombstones").fetchone()[0],
        format=FORMAT,
        bytes=total,
        bytes_catalogue=files_bytes(folder.glob(f"{FILE}*")),
        bytes_segments=files_bytes((folder / SEGMENTS).rglob("*")),
        bytes_graph=files_bytes((folder / GRAPH).rglob("*")),
        bytes_embeddings=files_bytes((folder / config.copied).rglob("*")),
        bytes_per_pair=total / pairs if pairs else 0.0,
    )
