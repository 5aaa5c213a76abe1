"""Texts in packs: many documents together take less than half the room that each would take by itself.

A pack is a row of the catalogue with the texts, labels and metadata of up to 256 documents, in pieces that are
compressed one by one, so that the text of one hit is there after a few kilobytes. Documents that come in small numbers
keep theirs in their own rows until the index is compacted.
"""

from __future__ import annotations

import sqlite3
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from wordferry.index.catalogue import DOCUMENT_COLUMNS, checked_document, damaged, get_meta

FEWEST = 64
"""Fewer documents than this keep their texts in their own rows."""
DOCUMENTS = 256
PIECE = 1 << 12
"""Bytes after which a piece of a pack is full."""
LEVEL = 4
_WAITING = 32
_END, _NO_LABEL = b"\xff", b"\xfe"
_FIELDS = 4
Text = tuple[int, str, str | None, str]
"""The number of a document, its text, label and metadata."""


def packed(texts: list[Text]) -> bytes:
    """The data of a pack: how many pieces it has, the first number and the end of each, and the pieces."""
    pieces: list[list[bytes]] = []
    firsts: list[int] = []
    size = PIECE
    for number, text, label, metadata in texts:
        if size >= PIECE:
            pieces.append([])
            firsts.append(number - texts[0][0])
            size = 0
        name = _NO_LABEL if label is None else label.encode("utf-8")
        fields = (b"%d" % number, text.encode("utf-8"), name, metadata.encode("utf-8"))
        pieces[-1] += fields
        size += len(fields[1]) + len(fields[3])
    data = [zlib.compress(_END.join(piece), LEVEL) for piece in pieces]
    ends = np.cumsum([len(one) for one in data])
    return b"".join([np.array([len(data), *firsts, *ends], dtype="<u4").tobytes(), *data])


class Packer:
    """Puts texts into packs, compressed by other threads where there are some; the result is the same."""

    def __init__(self, connection: sqlite3.Connection, threads: int = 1) -> None:
        self._connection = connection
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._waiting: deque[tuple[int, int, Future[bytes]]] = deque()

    def put(self, texts: list[Text]) -> None:
        """Store texts whose numbers rise and lie in no other pack."""
        for start in range(0, len(texts), DOCUMENTS):
            some = texts[start : start + DOCUMENTS]
            if self._pool is None:
                self._store(some[0][0], some[-1][0], packed(some))
                continue
            self._waiting.append((some[0][0], some[-1][0], self._pool.submit(packed, some)))
            while len(self._waiting) > _WAITING:
                self._take()

    def flush(self) -> None:
        """Wait until everything is stored."""
        while self._waiting:
            self._take()

    def _take(self) -> None:
        first, last, made = self._waiting.popleft()
        self._store(first, last, made.result())

    def _store(self, first: int, last: int, data: bytes) -> None:
        self._connection.execute("INSERT INTO packs VALUES(?, ?, ?)", (first, last, data))

    def __enter__(self) -> Packer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)


class Unpacker:
    """Rows of documents made whole again; the pack and the piece that were read last are kept."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file
        self._pack: tuple[int, int, bytes] = (0, -1, b"")
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._read = -1
        self._piece: list[bytes] = []
        self.count = 0

    def checked(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row of documents with its text, label and metadata, whose checksum is right."""
        if row[2] is None:
            try:
                text, label, metadata = self._find(row[0])
            except (zlib.error, ValueError, KeyError, IndexError, TypeError):
                raise damaged(self._file, f"document {row[1]!r}") from None
            row = (*row[:2], text, row[3], label, metadata, *row[6:])
        return checked_document(row, self._file)

    def texts(self) -> Iterator[Text]:
        """Everything in the pack that was opened last, deleted documents among it."""
        for place in range(len(self._starts)):
            fields = self._unpacked(place)
            self.count += len(fields) // _FIELDS
            for at in range(0, len(fields), _FIELDS):
                yield (int(fields[at]), *_decoded(fields, at))

    def open(self, number: int) -> bool:
        """Read the pack that has the document with this number, if there is one."""
        query = "SELECT first, last, data FROM packs WHERE first <= ? ORDER BY first DESC LIMIT 1"
        row = self._connection.execute(query, (number,)).fetchone()
        if row is None or row[1] < number:
            return False
        self._pack, self._read, self.count = row, -1, 0
        pieces = int.from_bytes(row[2][:4], "little")
        header = np.frombuffer(row[2][: 4 + 8 * pieces], dtype="<u4").tolist()
        self._starts, self._ends = header[1 : 1 + pieces], [0, *header[1 + pieces :]]
        return True

    def _find(self, number: int) -> tuple[str, str | None, str]:
        if not self._pack[0] <= number <= self._pack[1] and not self.open(number):
            raise KeyError(number)
        place = bisect_right(self._starts, number - self._pack[0]) - 1
        if place != self._read:
            self._piece, self._read = self._unpacked(place), place
        return _decoded(self._piece, _FIELDS * self._piece[::_FIELDS].index(b"%d" % number))

    def _unpacked(self, place: int) -> list[bytes]:
        start = 4 + 8 * len(self._starts)
        return zlib.decompress(self._pack[2][start + self._ends[place] : start + self._ends[place + 1]]).split(_END)


def _decoded(fields: list[bytes], at: int) -> tuple[str, str | None, str]:
    text, label, metadata = fields[at + 1 : at + _FIELDS]
    return text.decode(), None if label == _NO_LABEL else label.decode(), metadata.decode()


def repack(connection: sqlite3.Connection, file: Path) -> None:
    """Drop the texts of deleted documents from their packs, and pack those that lie in rows of their own."""
    packs = connection.execute("SELECT first, last FROM packs ORDER BY first").fetchall()
    unpacker = Unpacker(connection, file)
    with Packer(connection) as packer:
        for first, last in packs:
            query = "SELECT number FROM documents WHERE text IS NULL AND number BETWEEN ? AND ?"
            alive = {row[0] for row in connection.execute(query, (first, last))}
            unpacker.open(first)
            kept = [text for text in unpacker.texts() if text[0] in alive]
            if len(kept) < unpacker.count:
                connection.execute("DELETE FROM packs WHERE first = ?", (first,))
                packer.put(kept)
        for run in _loose(connection, [first for first, _ in packs]):
            packer.put(run)
            numbers = [(text[0],) for text in run]
            change = "UPDATE documents SET text = NULL, label = NULL, metadata = NULL WHERE number = ?"
            connection.executemany(change, numbers)


def _loose(connection: sqlite3.Connection, firsts: list[int]) -> Iterator[list[Text]]:
    """Runs of documents whose texts are in their own rows, cut where packs begin; short runs stay as they are."""
    query = (
        "SELECT number, text, label, metadata FROM documents WHERE text IS NOT NULL AND number > ? "
        f"ORDER BY number LIMIT {DOCUMENTS}"
    )
    after = -1
    while rows := connection.execute(query, (after,)).fetchall():
        between = bisect_right(firsts, rows[0][0])
        run = [row for row in rows if bisect_right(firsts, row[0]) == between]
        if len(run) >= FEWEST:
            yield run
        after = run[-1][0]


def all_documents(connection: sqlite3.Connection, file: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of all documents in order; an error at the end when some were missing."""
    state = get_meta(connection, "state", file)
    count = numbers = 0
    whole = Unpacker(connection, file)
    for row in connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents ORDER BY number"):
        count, numbers = count + 1, numbers + row[0]
        yield whole.checked(row)
    if count != state["documents"] or numbers != state["number_sum"]:
        raise damaged(file, "the list of documents")
