"""Sizes and counts of an index; and checking it byte by byte: all of its parts, and that they agree."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int64Array
from wordferry.base.frames import Facts
from wordferry.encoders.codes import scales_of
from wordferry.errors import FormatError, WordferryError
from wordferry.index.config import Config
from wordferry.index.storage import terms
from wordferry.index.storage.catalogue import DOCUMENT_COLUMNS, FILE, FORMAT, Catalogue, Database, translate
from wordferry.index.storage.graph import Graphs
from wordferry.index.storage.segments import GRAPH, SEGMENTS, Bags, Segment, SegmentRows, check_manifest, join
from wordferry.index.storage.snapshot import OpenState, read_buffer
from wordferry.index.storage.stems import STEMS, WordKeys
from wordferry.index.storage.stored_weights import StoredWeights
from wordferry.index.storage.texts import Unpacker, dictionary


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


class Checker:
    """Runs the checks and collects what is wrong."""

    def __init__(self, catalogue: Catalogue, config: Config, vectors: terms.IndexVectors, graphs: Graphs) -> None:
        self.catalogue, self.config, self.vectors, self.graphs = catalogue, config, vectors, graphs
        self.file, self.folder = catalogue.file, catalogue.folder
        self.problems: list[str] = []
        self._used: list[Int64Array] = []
        """The words of each part."""
        self._dimensions: set[int] = set()
        """Those of the vectors of all parts, 0 for a part without vectors."""
        self._keys = WordKeys(config.language)

    def run(self) -> Verification:
        """All checks; FormatError lists everything that is wrong."""
        with self.catalogue.reading() as connection:
            try:
                found = self._check_all(connection)
            except sqlite3.Error as error:
                self.problems.append(str(translate(error, self.file)))
        if self.problems:
            raise FormatError("The index is damaged. " + " | ".join(self.problems))
        return found

    def _attempt(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """The result, or None with the error noted."""
        try:
            return action(*arguments)
        except storage.MissingFile:  # a writer may have compacted it away: whoever called looks again
            raise
        except (WordferryError, OSError, ValueError, KeyError, TypeError) as error:
            self.problems.append(str(error))
            return None

    def _hold(self, right: Any, problem: str) -> None:
        """Note a problem, unless what should be is."""
        if not right:
            self.problems.append(problem)

    def _check_all(self, connection: Database) -> Verification:
        connection.kept.clear()
        for (line,) in connection.execute("PRAGMA integrity_check"):
            self._hold(line == "ok", f"{self.file}: {line}.")
        keys = [row[0] for row in connection.execute("SELECT key FROM meta")]
        entries = {key: self._attempt(connection.meta, key) for key in keys}
        missing = sorted({"config", "state", "identity"} - entries.keys())
        self._hold(not missing, f"{self.file} is damaged: the entries {missing} are missing.")
        state = entries.get("state") or {}
        numbers = self._check_documents(connection)
        stop = self._attempt(terms.read_stop_words, connection, sys.maxsize)
        stop = np.zeros(0, np.int64) if stop is None else stop
        segmented, pairs = [np.zeros(0, dtype=np.int64)], 0
        for row in connection.execute("SELECT * FROM segments ORDER BY first"):
            bags = self._attempt(self._check_segment, connection, row, stop)
            if bags is not None:
                segmented.append(np.array(bags.numbers))
                pairs += len(bags.words)
        buffer = self._attempt(read_buffer, connection) or join([])
        self._use(buffer)
        self._check_rows(connection, numbers, np.concatenate(segmented), buffer.numbers)
        words = self._check_words(connection, state)
        alike = not state or not self._dimensions - {state.get("dimension", 0)}
        self._hold(alike, f"{self.file}: the vectors of documents are not of the dimension that the state says.")
        covered = self._check_graph(entries.get("graph"), state, words)
        self._check_embeddings()
        if entries.get("weights") is not None:
            self._attempt(partial(StoredWeights.read, self.folder, entries["weights"], verify=True))
        count = state.get("documents", len(numbers))
        right = not state or (count == len(numbers) and numbers.max(initial=-1) < state["next_number"])
        self._hold(right, f"{self.file}: the number of documents is {len(numbers)}, the state says {count}.")
        counts = len(numbers), len(segmented) - 1, pairs + len(buffer.words), state.get("words", 0)
        return Verification(*counts, covered, files_bytes(self.folder.rglob("*")))

    def _check_documents(self, connection: Database) -> Int64Array:
        numbers, whole = [], Unpacker(connection)
        for (number,) in connection.execute("SELECT number FROM dictionaries").fetchall():
            self._attempt(dictionary, connection, number)
        for row in connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents ORDER BY number"):
            numbers.append(row[0])
            self._attempt(lambda row: json.loads(whole.checked(row)[5]), row)
        return np.array(numbers, dtype=np.int64)

    def _check_segment(self, connection: Database, row: Sequence[Any], stop: Int64Array) -> Bags:
        segment = Segment.of(row, connection)
        rows = segment.read(self.folder, verify=True)
        bags, called = rows.bags, f"Segment {segment.name}"
        ends = bags.numbers[0] == segment.first and bags.numbers[-1] == segment.last
        self._hold(ends, f"{called} holds other documents than the catalogue says.")
        again = SegmentRows.of(bags, rows.columns, stop)
        stored, made = ([one.lengths, *one.lists.arrays.values()] for one in (rows, again))
        same = rows.longest == again.longest and all(map(np.array_equal, stored, made))
        self._hold(same, f"{called}: its lists do not agree with its bags of words.")
        scaled = bags.codes is None or np.array_equal(bags.codes.scales, scales_of(bags.codes.codes))
        self._hold(scaled, f"{called}: the scales of its vectors do not agree with their codes.")
        agree = self._attempt(self._stems_agree, rows, connection)
        self._hold(agree, f"{called}: its stems do not agree with its words.")
        self._use(bags)
        return bags

    def _stems_agree(self, rows: SegmentRows, connection: Database) -> bool:
        """Whether the stems of a segment are those of its words; another version of the stemmer may give others."""
        stored = rows.stems
        if stored is None or stored.edition != self._keys.edition:
            return True
        again = self._keys.stems(rows, partial(terms.find_words, connection))
        return all(np.array_equal(getattr(stored, name), getattr(again, name)) for name in STEMS)

    def _use(self, bags: Bags) -> None:
        """Note the words of some bags, and the dimension of their vectors."""
        self._used.append(np.unique(bags.words).astype(np.int64))
        if len(bags):
            self._dimensions.add(0 if bags.codes is None else bags.codes.dimension)

    def _check_rows(self, connection: Database, documents: Int64Array, segmented: Int64Array, buffered: Any) -> None:
        """Every document has exactly one bag, and every bag that is not deleted has its document."""
        dead = np.array([row[0] for row in connection.execute("SELECT number FROM tombstones")], dtype=np.int64)
        held = np.isin(dead, segmented).all()
        self._hold(held, f"{self.file}: documents are marked deleted that no segment holds.")
        live = np.concatenate([segmented[~np.isin(segmented, dead)], buffered])
        ordered = (np.diff(live) > 0).all()
        self._hold(ordered, f"{self.file}: the documents of segments and buffer are not in order.")
        lost, extra = len(np.setdiff1d(documents, live)), len(np.setdiff1d(live, documents))
        agree = np.array_equal(live, documents)
        self._hold(agree, f"{self.file}: {lost} documents have no bag of words, {extra} bags have no document.")

    def _check_words(self, connection: Database, state: dict[str, Any]) -> terms.TermVectors | None:
        """Every row of the dictionary, and that it has every word that documents have."""
        if isinstance(self.vectors, terms.MadeVectors):
            blocks = self.vectors.blocks
            self._attempt(lambda: list(blocks(connection, 0, state["made"])))
        embeddings = self._attempt(self.vectors.read, connection, state)
        vocabulary = (embeddings or self.vectors.embeddings).vocabulary
        query = connection.execute("SELECT * FROM words ORDER BY number")
        rows = self._attempt(lambda: list(terms.checked_rows(connection, query))) or []
        for number, word, vector, _ in rows:
            right = vocabulary.get(word) < 0 if vector is None else vocabulary.get(word) == vector
            if not right or not 0 <= number < state.get("words", 0):
                self.problems.append(f"{self.file}: the entry of word {number} ({word!r}) is damaged.")
                return None
        listed = np.array([row[0] for row in rows], dtype=np.int64)
        every = np.isin(np.concatenate(self._used), listed).all()
        self._hold(every, f"{self.file}: documents have words that are not listed.")
        found: terms.TermVectors | None = self._attempt(terms.read_vectors, connection, state) if state else None
        return found

    def _check_graph(self, stored: Any, state: dict[str, Any], words: terms.TermVectors | None) -> int:
        covered, rows = 0, np.zeros(0, np.int64) if words is None else words.rows
        current = stored if stored and stored["epoch"] == state.get("epoch") else None
        for record in (self.config.base, current):
            if record is not None and record["words"] <= len(rows):
                load = partial(self.graphs.load, record, rows[: record["words"]], compare=True)
                covered = record["words"] if self._attempt(load) is not None else covered
        return int(covered)

    def _check_embeddings(self) -> None:
        if self.config.keep == "copy":
            place = self.folder / self.config.copied
            self._attempt(check_manifest, place, str(self.config.manifest))
            self._attempt(storage.verify_folder, place)
        elif self.config.keep == "path":
            same = self.vectors.embeddings.fingerprint == self.config.fingerprint
            self._hold(same, f"The word vectors at {self.config.path} are not those the index was made with.")


def files_bytes(files: Iterable[Path]) -> int:
    """Bytes of some files, of which a writer may remove one in this moment."""
    total = 0
    for file in files:
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def collect(folder: Path, config: Config, state: OpenState) -> Stats:
    """Count one state of an index."""
    connection, snapshot = state
    tokens, known = snapshot.tokens(), snapshot.tokens(known=True)
    words = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.bags.indptr) for part in snapshot.parts)])
    pairs, total = int(words[snapshot.rows(snapshot.alive)].sum()), files_bytes(folder.rglob("*"))
    return Stats(
        documents=snapshot.documents,
        words=len(snapshot.terms),
        pairs=pairs,
        tokens=int(tokens),
        coverage=known / tokens if tokens else 1.0,
        **{name: getattr(config, name) for name in ("distance", "weights", "unknown", "language", "r")},
        graph_words=snapshot.graph["words"] if snapshot.graph else 0,
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
