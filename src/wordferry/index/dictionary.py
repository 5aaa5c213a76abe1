"""Dictionaries of packs: the frequent words of a collection, stored once, so that each piece need not spell them out.

The first one is made of the texts that are packed first, another one whenever the collection has become eight times as
large; a pack names the one it was made with.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

from wordferry.index.catalogue import checksum, damaged
from wordferry.index.reader import Reader

LARGEST = 1 << 15
"""Bytes that zlib looks back."""
_SHARE = 16
"""A dictionary is at most one byte for so many of the texts it is made of."""
_LEAST = 1 << 14
"""Bytes of texts that are too few to make one of."""
_GROWTH = 8
_LEVEL = 4


class Compressor(Protocol):
    """What zlib.compressobj gives."""

    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...
    def copy(self) -> Compressor: ...


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


class Dictionaries:
    """The dictionaries that a catalogue has."""

    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file
        self._kept: dict[int, bytes] = {}
        if isinstance(connection, Reader) and connection.version >= 0:
            self._kept = connection.dictionaries

    def get(self, number: int) -> bytes:
        """A dictionary by its number; 0 is an empty one."""
        if not number:
            return b""
        found = self._kept.get(number)
        if found is None:
            row = self._connection.execute("SELECT * FROM dictionaries WHERE number = ?", (number,)).fetchone()
            if row is None or checksum(*row[:3]) != row[3]:
                raise damaged(self._file, f"the dictionary {number} of the texts")
            found = self._kept[number] = zlib.decompress(row[2])
        return found

    @property
    def newest(self) -> tuple[int, int]:
        """The number of the newest one, and of the last document it was made of; (0, 0) where there is none."""
        row = self._connection.execute("SELECT number, last FROM dictionaries ORDER BY number DESC LIMIT 1").fetchone()
        return (0, 0) if row is None else row

    def due(self, first: int) -> bool:
        """Whether documents from this number on are to have a new one."""
        number, last = self.newest
        return not number or first >= _GROWTH * last

    def make(self, last: int, texts: list[bytes], ends: bytes) -> None:
        """Make one of texts up to a document's; too few texts make none."""
        data = trained(texts, ends[-(LARGEST // _SHARE) :])
        if data:
            row = (self.newest[0] + 1, last, zlib.compress(data, 9))
            self._connection.execute("INSERT INTO dictionaries VALUES(?, ?, ?, ?)", (*row, checksum(*row)))

    def check(self) -> None:
        """Read all of them, whatever was read before."""
        self._kept.clear()
        for (number,) in self._connection.execute("SELECT number FROM dictionaries").fetchall():
            self.get(number)


def compressor(dictionary: bytes) -> Compressor:
    """A compressor to make copies of, which costs less than to read the dictionary again for each piece."""
    return zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS, zdict=dictionary)


def decompressor(dictionary: bytes) -> Any:
    """What unpacks a piece. Pieces are bare: the checksum of a document covers what is in them."""
    return zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary)
