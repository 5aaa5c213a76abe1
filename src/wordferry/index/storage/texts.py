"""Texts in packs: many documents together take less than half the room that each would take by itself.

A pack is a row of the catalogue with the texts, labels and metadata of up to 64 documents, in pieces that are
compressed one by one with a dictionary that all share, so that the text of one hit is there after a kilobyte or two.
Documents that come in small numbers keep theirs in their own rows until the index is compacted.

A compression dictionary holds the frequent words of a collection, so that each piece need not spell them out. The first
one is made of the texts that are packed first, another one whenever the collection has become eight times as large; a
pack names the one it was made with.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np

from wordferry.index.results import Document
from wordferry.index.storage.catalogue import DOCUMENT_COLUMNS, Database, sealed
from wordferry.texts.tokenizers import KeptText

FEWEST = 64
"""Fewer documents than this keep their texts in their own rows."""
DOCUMENTS = 64
PIECE = 1 << 10
"""Bytes after which a piece of a pack is full."""
_SAMPLE = 32
"""One text in this many is kept as a sample to make a dictionary of."""
_RUN = 1 << 10
"""Documents that are packed at once when an index is compacted."""
_END, _NO_LABEL = b"\xff", b"\xfe"
_FIELDS = 3
_metadata = json.JSONDecoder().raw_decode
"""What was written as JSON, and compared with its checksum, without looking for blanks around it."""
Text = tuple[int, str, str | None, str]
"""The number of a document, its text, label and metadata."""


LARGEST = 1 << 15
"""Bytes that zlib looks back."""
_SHARE = 16
"""A dictionary has at most one byte for this many bytes of the texts it is made of."""
_LEAST = 1 << 14
"""Bytes of texts that are too few to make one of."""
_GROWTH = 8
_LEVEL = 4


def trained(texts: list[bytes], ends: bytes) -> bytes:
    """The words that come most often in some texts, and then ``ends``, which is what stands between texts.

    What is used most stands last, where it is cheapest to refer to. Where few words come twice, as in scripts without
    blanks, the texts themselves fill the room.
    """
    size = sum(map(len, texts))
    if size < _LEAST:
        return b""
    room = min(LARGEST, size // _SHARE) - len(ends)
    seen: Counter[bytes] = Counter()
    for text in texts:
        seen.update(text.split())
    words: list[bytes] = []
    for word, count in sorted(seen.items(), key=lambda one: (-(one[1] - 1) * len(one[0]), one[0])):
        room -= len(word) + 1
        if room < 0 or count < 2:
            break
        words.append(word)
    if room > 1:
        words.append(b" ".join(texts)[: room - 1])
    return b" ".join([*reversed(words), b""]) + ends


def dictionary(connection: Database, number: int) -> bytes:
    """A compression dictionary by its number; 0 is an empty one."""
    if not number:
        return b""
    found: bytes | None = connection.kept.get(number)
    if found is None:
        row = connection.execute("SELECT * FROM dictionaries WHERE number = ?", (number,)).fetchone()
        _, _, data = connection.unsealed(row or (), f"the dictionary {number} of the texts")
        found = connection.kept[number] = zlib.decompress(data)
    return found


def compressor(dictionary: bytes) -> Any:
    """A compressor to make copies of, which costs less than to read the dictionary again for each piece."""
    return zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS, zdict=dictionary)


def packed(texts: list[tuple[int, list[bytes]]], base: Any) -> bytes:
    """The data of a pack: how many pieces it has, the first number and the end of each, and the pieces."""
    pieces: list[list[tuple[int, list[bytes]]]] = []
    size = PIECE
    for number, fields in texts:
        if size >= PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append((number, fields))
        size += len(fields[0]) + len(fields[2])
    data = []
    for piece in pieces:
        made = base.copy()
        every = [field for _, fields in piece for field in fields]
        data.append(made.compress(_END.join([_gaps([number for number, _ in piece]), *every])) + made.flush())
    firsts = [piece[0][0] - texts[0][0] for piece in pieces]
    ends = np.cumsum([len(one) for one in data])
    return b"".join([np.array([len(data), *firsts, *ends], dtype="<u4").tobytes(), *data])


def _gaps(numbers: list[int]) -> bytes:
    """How far each number is from the first; nothing where they come one after the other."""
    first = numbers[0]
    return b"" if numbers[-1] - first == len(numbers) - 1 else b" ".join(b"%d" % (one - first) for one in numbers)


class Packer:
    """Puts texts into packs."""

    def __init__(self, connection: Database) -> None:
        self._connection = connection
        self._base: Any = None
        """What compresses with the newest dictionary."""
        self._sample: deque[bytes] = deque(maxlen=1 << 10)

    def put(self, texts: list[Text]) -> None:
        """Store texts whose numbers rise and lie in no other pack."""
        if not texts:
            return
        encoded = [(number, _encoded(text, label, metadata)) for number, text, label, metadata in texts]
        query = "SELECT number, last FROM dictionaries ORDER BY number DESC LIMIT 1"
        number, last = self._connection.execute(query).fetchone() or (0, 0)
        if not number or texts[0][0] >= _GROWTH * last:
            ends = b"".join(_END.join([b"", *fields[1:], b""]) for _, fields in encoded[-8:])
            some = [*self._sample, *(fields[0] for _, fields in encoded)]
            if data := trained(some, ends[-(LARGEST // _SHARE) :]):
                number += 1
                row = sealed(number, texts[-1][0], zlib.compress(data, 9))
                self._connection.execute("INSERT INTO dictionaries VALUES(?, ?, ?, ?)", row)
            self._base = None
        self._sample.extend(fields[0] for _, fields in encoded[::_SAMPLE])
        if self._base is None:
            self._base = compressor(dictionary(self._connection, number))
        for start in range(0, len(encoded), DOCUMENTS):
            part = encoded[start : start + DOCUMENTS]
            row = part[0][0], part[-1][0], number, packed(part, self._base)
            self._connection.execute("INSERT INTO packs VALUES(?, ?, ?, ?)", row)


class Unpacker:
    """Rows of documents made whole again; the pack and the piece that were read last are kept."""

    def __init__(self, connection: Database) -> None:
        self._connection = connection
        self._pack: tuple[int, int, int, bytes] = (0, -1, 0, b"")
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._piece: dict[int, list[bytes]] = {}

    def checked(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row of documents with its text, label and metadata, whose checksum is right."""
        if row[2] is None:
            try:
                text, label, metadata = self._find(row[0])
            except (zlib.error, ValueError, KeyError, IndexError, TypeError):
                raise self._connection.damaged(f"document {row[1]!r}") from None
            row = (*row[:2], text, row[3], label, metadata, *row[6:])
        self._connection.unsealed(row, "document {1!r}")
        return row

    def document(self, row: tuple[Any, ...]) -> Document:
        """A row of documents as a document."""
        _, id, text, tokenized, label, metadata, *_ = self.checked(row)
        return Document(id, stored_text(text, tokenized), _metadata(metadata)[0], label)

    def texts(self) -> Iterator[Text]:
        """Everything in the pack that was opened last, deleted documents among it."""
        for place in range(len(self._starts)):
            for number, fields in self._unpacked(place).items():
                yield (number, *_decoded(fields))

    def open(self, number: int) -> bool:
        """Read the pack that has the document with this number, if there is one."""
        query = "SELECT * FROM packs WHERE first <= ? ORDER BY first DESC LIMIT 1"
        row = self._connection.execute(query, (number,)).fetchone()
        if row is None or row[1] < number:
            return False
        self._pack = row
        pieces = int.from_bytes(row[3][:4], "little")
        header = np.frombuffer(row[3], "<u4", 2 * pieces, 4).tolist()
        self._starts, self._ends = header[:pieces], [0, *header[pieces:]]
        return True

    def _find(self, number: int) -> tuple[str, str | None, str]:
        if number not in self._piece:
            if not self._pack[0] <= number <= self._pack[1] and not self.open(number):
                raise KeyError(number)
            self._piece = self._unpacked(bisect_right(self._starts, number - self._pack[0]) - 1)
        return _decoded(self._piece[number])

    def _unpacked(self, place: int) -> dict[int, list[bytes]]:
        """The text, label and metadata of each document of a piece, by its number."""
        first, _, number, data = self._pack
        start = 4 + 8 * len(self._starts)
        # Pieces are bare: the checksum of a document covers what is in them.
        stream = zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary(self._connection, number))
        unpacked = stream.decompress(data[start + self._ends[place] : start + self._ends[place + 1]])
        if not stream.eof:
            raise ValueError("a piece has no end")
        gaps, *fields = unpacked.split(_END)
        documents = [fields[i : i + _FIELDS] for i in range(0, len(fields), _FIELDS)]
        offsets = map(int, gaps.split(b" ")) if gaps else range(len(documents))
        return {first + self._starts[place] + offset: one for offset, one in zip(offsets, documents, strict=True)}


def _encoded(text: str, label: str | None, metadata: str) -> list[bytes]:
    return [text.encode("utf-8"), _NO_LABEL if label is None else label.encode("utf-8"), metadata.encode("utf-8")]


def _decoded(fields: list[bytes]) -> tuple[str, str | None, str]:
    text, label, metadata = fields
    return text.decode(), None if label == _NO_LABEL else label.decode(), metadata.decode()


def repack(connection: Database) -> None:
    """Drop the texts of deleted documents from their packs, and pack those that lie in rows of their own."""
    packs = connection.execute("SELECT first, last FROM packs ORDER BY first").fetchall()
    unpacker, packer = Unpacker(connection), Packer(connection)
    for first, last in packs:
        query = "SELECT number FROM documents WHERE text IS NULL AND number BETWEEN ? AND ?"
        alive = {row[0] for row in connection.execute(query, (first, last))}
        unpacker.open(first)
        every = list(unpacker.texts())
        kept = [text for text in every if text[0] in alive]
        if len(kept) < len(every):
            connection.execute("DELETE FROM packs WHERE first = ?", (first,))
            packer.put(kept)
    firsts = [first for first, _ in packs]
    query = "SELECT number, text, label, metadata FROM documents WHERE text IS NOT NULL ORDER BY number"
    for _, between in groupby(connection.execute(query), lambda row: bisect_right(firsts, row[0])):
        while run := list(islice(between, _RUN)):
            if len(run) >= FEWEST:  # shorter runs between packs stay as they are
                packer.put(run)
                change = "UPDATE documents SET text = NULL, label = NULL, metadata = NULL WHERE number = ?"
                connection.executemany(change, [(text[0],) for text in run])


def all_documents(connection: Database) -> Iterator[Document]:
    """All documents in order; an error at the end when some were missing."""
    state = connection.meta("state")
    count = numbers = 0
    whole = Unpacker(connection)
    for row in connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents ORDER BY number"):
        count, numbers = count + 1, numbers + row[0]
        yield whole.document(row)
    if count != state["documents"] or numbers != state["number_sum"]:
        raise connection.damaged("the list of documents")


def stored_text(text: str, tokenized: int) -> str | tuple[str, ...]:
    """A text as it was given, of what is stored of it."""
    if not tokenized:
        return text
    first, *rest = json.loads(text) or ("",)
    return KeptText(first, rest) if tokenized == 2 else (first, *rest) if text != "[]" else ()


def read_document(connection: Database, id: str) -> Document | None:
    """The document with an id, or None."""
    row = connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE id = ?", (id,)).fetchone()
    return None if row is None else Unpacker(connection).document(row)


def read_documents(connection: Database, numbers: Sequence[int]) -> Iterator[Document]:
    """The documents with these numbers, in their order."""
    rows = connection.select_in(f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE number", numbers)
    found, unpacker = {row[0]: row for row in rows}, Unpacker(connection)
    for number in numbers:
        if number not in found:
            raise connection.damaged(f"the document with number {number} (it is missing)")
        yield unpacker.document(found[number])
