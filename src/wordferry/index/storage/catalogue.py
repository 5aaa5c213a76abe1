"""The catalogue: one SQLite file that is the truth about an index.

It holds the documents with their texts, ids and metadata, the term dictionary, the list of segments, the documents that
are too few for a segment yet (the buffer), and which rows of segments are deleted (tombstones). Every change is one
transaction with full durability; readers see the state of the moment they began.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from wordferry.base.runtime import logger
from wordferry.errors import FormatError, LockedError, NotFound, ReplacedError, StorageError, WordferryError

FILE = "catalogue.sqlite"
FORMAT = 4
APPLICATION = 0x57464958
"""The four letters WFIX, in the header of the file."""
BUSY_SECONDS = 20.0
_WRITING = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=ON; PRAGMA cache_size=-32768;"
"""A writer keeps 32 MB of the database in memory, so that ids in any order find their place without reading."""
_MAPPED = 1 << 30 if os.name == "posix" and sys.maxsize > 1 << 32 else 0
"""Bytes of the database that readers map, as they map segments; not where a mapped file cannot become shorter."""
_READING = f"PRAGMA query_only=ON; PRAGMA mmap_size={_MAPPED};"
_VARIABLES = 500
"""Values that one query is given at most."""

SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE documents(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT, tokenized INTEGER NOT NULL,
  label TEXT, metadata TEXT, tokens INTEGER NOT NULL, known INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE packs(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, dictionary INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE dictionaries(number INTEGER PRIMARY KEY, last INTEGER NOT NULL, data BLOB NOT NULL,
  checksum INTEGER NOT NULL);
CREATE TABLE buffer(number INTEGER PRIMARY KEY, words BLOB NOT NULL, counts BLOB NOT NULL, codes BLOB,
  checksum INTEGER NOT NULL);
CREATE TABLE segments(name TEXT PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL,
  documents INTEGER NOT NULL, pairs INTEGER NOT NULL, manifest TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE tombstones(number INTEGER PRIMARY KEY);
CREATE TABLE words(number INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, vector INTEGER, checksum INTEGER NOT NULL);
CREATE TABLE vectors(first INTEGER PRIMARY KEY, words TEXT NOT NULL, vectors BLOB NOT NULL, lengths BLOB NOT NULL,
  checksum INTEGER NOT NULL);
CREATE INDEX words_with_vectors ON words(number, vector) WHERE vector IS NOT NULL;
"""
DOCUMENT_COLUMNS = "number, id, text, tokenized, label, metadata, tokens, known, checksum"


_AS_BYTES: dict[type, Callable[[Any], bytes]] = {
    str: lambda value: b"s%b\xff" % value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: b"b%b\xff" % value,
    int: lambda value: b"i%d\xff" % value,
    type(None): lambda value: b"nNone\xff",
    float: lambda value: b"f%b\xff" % str(value).encode(),
}


def checksum(*values: Any) -> int:
    """CRC-32 of a row: of each field a letter for its type, the field as text, and a byte that no text holds."""
    return zlib.crc32(b"".join([_AS_BYTES[type(value)](value) for value in values]))


def sealed(*values: Any) -> tuple[Any, ...]:
    """A row with its checksum behind it."""
    return (*values, checksum(*values))


def stamp_of(file: Path) -> tuple[int, ...] | None:
    """The state of a catalogue that nobody has open for writing: if it is the same later, no byte has changed.

    None where there is a write-ahead log, which is there as long as anybody with the right to write has it open.
    """
    with suppress(FileNotFoundError):
        if file.with_name(f"{FILE}-wal").stat().st_size > 0 or file.with_name(f"{FILE}-shm").exists():
            return None
    with suppress(FileNotFoundError):
        facts = file.stat()
        return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
    return ()


class Database(sqlite3.Connection):
    """A connection to a catalogue, which remembers what it read of the state it sees."""

    file = Path()
    """The catalogue."""
    version = -1
    """What SQLite calls the version of the data; it changes with every commit of another connection."""
    stamp: tuple[int, ...] | None = None
    """The state of the file, where the connection relies on its not changing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kept: dict[Any, Any] = {}
        """Entries, and dictionaries of texts, that were read in this state."""

    def changed(self) -> bool:
        """Whether the transaction that has begun sees another state than the one before it."""
        (version,) = self.execute("PRAGMA data_version").fetchone()
        if version == self.version:
            return False
        self.version, self.kept = version, {}
        return True

    def damaged(self, what: str) -> FormatError:
        """The error for what does not match its checksum."""
        return FormatError(
            f"{self.file} is damaged: {what} does not match its checksum. Restore the index from a copy."
        )

    def unsealed(self, row: Sequence[Any], what: str) -> Sequence[Any]:
        """A row, which must be there, without the checksum behind it, which must be right; ``what`` names it."""
        values = row[:-1]
        if not row or checksum(*values) != row[-1]:
            raise self.damaged(what.format(*values))
        return values

    def meta(self, key: str) -> Any:
        """The JSON value under a name, or None; read once for each state."""
        if key not in self.kept:
            for row in self.execute("SELECT * FROM meta WHERE key = ?", (key,)):
                self.kept[key] = json.loads(self.unsealed(row, "the entry {!r} in the table meta")[1])
        return self.kept.get(key)

    def set_meta(self, key: str, value: Any) -> None:
        """Store one JSON value under a name."""
        row = sealed(key, json.dumps(value, ensure_ascii=False))
        self.execute("INSERT OR REPLACE INTO meta VALUES(?, ?, ?)", row)
        self.kept.pop(key, None)

    def select_in(self, query: str, values: Sequence[Any]) -> list[Any]:
        """The rows of a query whose last column has one of some values, of which there may be many."""
        rows: list[Any] = []
        for start in range(0, len(values), _VARIABLES):
            some = values[start : start + _VARIABLES]
            rows += self.execute(f"{query} IN ({','.join('?' * len(some))})", some)
        return rows


class Catalogue:
    """Connections to the catalogue of one index: any number for reading, one for writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / FILE
        self._idle: list[Database] = []
        self._writer: Database | None = None
        self._mutex = Lock()
        self.closed = False
        self._process = os.getpid()
        if not folder.exists():
            raise NotFound(f"There is no index at {folder}. Make one with Index.create or wordferry index create.")
        if not self.file.is_file():
            raise FormatError(f"{folder} is not a wordferry index: it has no {FILE}.")
        self.read_only = not (os.access(folder, os.W_OK) and os.access(self.file, os.W_OK))
        self._facts = os.stat(self.file)
        """What tells the file from all others that are there while a connection has it open."""
        self.identity = ""
        """A name that no other index has."""
        with self.reading() as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise FormatError(
                    f"{self.file} is not the catalogue of a wordferry index, or its first bytes are damaged."
                )
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != FORMAT:
                raise FormatError(
                    f"{folder} is an index in format {version}; this version of wordferry reads format {FORMAT}. Use "
                    "the version that wrote it (its documents come out with wordferry index export), or upgrade with: "
                    "pip install -U wordferry"
                )
            for name in ("identity", "config"):
                if connection.meta(name) is None:
                    raise FormatError(f"{self.file} is damaged: the entry {name!r} is missing.")
            self.identity = connection.meta("identity")

    @classmethod
    def create(cls, folder: Path, meta: dict[str, Any], words: Iterable[tuple[Any, ...]]) -> None:
        """Write a catalogue without documents into a folder."""
        file = folder / FILE
        connection = sqlite3.connect(file, isolation_level=None, factory=Database)
        try:
            connection.executescript(_WRITING)
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                connection.execute(f"PRAGMA application_id={APPLICATION}")
                connection.execute(f"PRAGMA user_version={FORMAT}")
                for statement in SCHEMA.strip().split(";\n"):
                    connection.execute(statement)
                for key, value in meta.items():
                    connection.set_meta(key, value)
                connection.executemany("INSERT INTO words VALUES(?, ?, ?, ?)", words)
        except sqlite3.Error as error:
            raise translate(error, file) from error
        finally:
            connection.close()

    def _connect(self, *, write: bool) -> Database:
        """A new connection. Who may not write reads beside a writer through the writer's log and shared memory; when
        nobody has the index open there is neither, and the file is read as one that does not change as long as it
        does not (:func:`stamp_of`)."""
        options, stamp = "mode=rw", None
        if self.read_only:
            stamp = stamp_of(self.file)
            options = "mode=ro" if stamp is None else "mode=ro&immutable=1"
        place = f"{self.file.absolute().as_uri()}?{options}"
        connection = sqlite3.connect(
            place,
            uri=True,
            isolation_level=None,
            timeout=BUSY_SECONDS,
            check_same_thread=False,
            cached_statements=64,
            factory=Database,
        )
        connection.file, connection.stamp = self.file, stamp
        try:
            connection.executescript(_WRITING if write else _READING)
        except BaseException:
            connection.close()
            raise
        return connection

    def check_use(self) -> None:
        """Refuse a catalogue that was closed, opened before a fork, or whose path names another one now, or none."""
        if self.closed:
            raise StorageError(f"The index {self.folder} was closed. Open it again.")
        if os.getpid() != self._process:
            raise StorageError(f"The index {self.folder} was opened in another process. Open it again in this one.")
        try:
            same = os.path.samestat(os.stat(self.file), self._facts)
        except OSError:
            same = False
        if not same:
            raise self._replaced()

    def _replaced(self) -> ReplacedError:
        return ReplacedError(
            f"The index at {self.folder} was replaced, moved or removed after it was opened here. Open it again."
        )

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """A connection inside a read transaction: everything read through it is one state of the index."""
        self.check_use()
        connection: Database | None = None
        sound = False
        try:
            connection = self._idle_connection() or self._connect(write=False)
            connection.execute("BEGIN")
            if connection.changed() and self.identity and connection.meta("identity") != self.identity:
                raise self._replaced()
            yield connection
            self._check_unchanged(connection)
            sound = True
        except sqlite3.Error as error:
            self.check_use()  # what looks like a failing disk may be a folder that is being removed
            if connection is not None:
                self._check_unchanged(connection)
            raise translate(error, self.file, read_only=self.read_only) from error
        except UnicodeDecodeError as error:  # in a text, or in the message about a broken one
            raise FormatError(f"{self.file} is damaged: {error}. Restore the index from a copy.") from error
        finally:
            if connection is not None:
                self._hand_back(connection, sound)

    def _idle_connection(self) -> Database | None:
        """A connection that waits to be used again; one that cannot see what has changed since is closed."""
        while True:
            with self._mutex:
                connection = self._idle.pop() if self._idle else None
            if connection is None or connection.stamp is None or connection.stamp == stamp_of(self.file):
                return connection
            connection.close()

    def _check_unchanged(self, connection: Database) -> None:
        """Refuse what was read from a file that somebody began to write meanwhile."""
        if connection.stamp is not None and connection.stamp != stamp_of(self.file):
            raise StorageError(f"{self.file} was changed by a writer while it was read. Try again.")

    def _hand_back(self, connection: Database, sound: bool) -> None:
        try:
            connection.rollback()
        except sqlite3.Error:
            sound = False
        with self._mutex:
            if sound and not self.closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """A connection inside a write transaction: committed and on the disk at the end, or nothing of it."""
        self.check_use()
        try:
            if self._writer is None:
                self._writer = self._connect(write=True)
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.kept.clear()
            with self._writer:
                yield self._writer
        except sqlite3.Error as error:
            raise translate(error, self.file) from error

    def vacuum(self) -> None:
        """Give space that deleted documents left back to the disk, if there is room to do so."""
        try:
            if self._writer is not None:
                free = self._writer.execute("PRAGMA freelist_count").fetchone()[0]
                pages = self._writer.execute("PRAGMA page_count").fetchone()[0]
                if free * 4 > pages:
                    self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:  # what was asked for is committed already
            logger.warning("The space of deleted documents is kept for later: %s", str(translate(error, self.file)))

    def close(self) -> None:
        """Close every connection; the last one to go folds the log into the file."""
        with self._mutex:
            self.closed = True
            idle, self._idle = self._idle, []
        for connection in [*idle, *([self._writer] if self._writer else [])]:
            connection.close()
        self._writer = None


def id_sum(ids: Iterable[str]) -> int:
    """A sum over ids that any lost, doubled or changed one changes: the state keeps that over all of them."""
    return sum(zlib.crc32(identifier.encode("utf-8")) for identifier in ids)


def number_of(connection: Database, identifier: str) -> int | None:
    """The number of the document with an id."""
    row = connection.execute("SELECT number FROM documents WHERE id = ?", (identifier,)).fetchone()
    return None if row is None else row[0]


def all_ids(connection: Database) -> list[str]:
    """The ids of all documents in order, held to the count and the sum that the state keeps."""
    state = connection.meta("state")
    ids = [row[0] for row in connection.execute("SELECT id FROM documents ORDER BY number")]
    if len(ids) != state["documents"] or id_sum(ids) != state["id_sum"]:
        raise connection.damaged("the list of ids")
    return ids


_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CONSTRAINT,  # what is stored was looked at first, so only tables that contradict each other get here
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT,
)
_SCHEMA_LOST = re.compile("no such (table|column|index)|malformed|unsupported file format|schema")


def translate(error: sqlite3.Error, file: Path, *, read_only: bool = False) -> WordferryError:
    """What an error of the database means for the user of the index."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if read_only and code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
        return StorageError(
            f"{file} has changes in {FILE}-wal that a writer left behind, and the folder is read-only. Open "
            "it once where it can be written (wordferry index info), then use it read-only."
        )
    if code == sqlite3.SQLITE_FULL:
        return StorageError(
            f"{file.parent}: the disk is full. Nothing of this call was stored; what was there is safe."
        )
    if code == sqlite3.SQLITE_READONLY:
        return StorageError(f"{file} cannot be written: {error}. It can be opened for reading and search.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LockedError(f"{file} is locked by another program: {error}. Try again when it is done.")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return StorageError(f"{file} could not be read or written: {error}.")
    if code in _DAMAGE or (code == sqlite3.SQLITE_ERROR and _SCHEMA_LOST.search(str(error))):
        return FormatError(f"{file} is damaged: {error}. Restore the index from a copy.")
    return StorageError(f"{file}: the database could not do what was asked: {error}.")
