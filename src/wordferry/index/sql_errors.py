"""What an error of the database means for the user of an index."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from wordferry.errors import FormatError, LockedError, StorageError, WordferryError

_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CONSTRAINT,  # what is stored was looked at first, so only tables that contradict each other get here
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT,
)
_SCHEMA_LOST = re.compile("no such (table|column|index)|malformed|unsupported file format|schema")


def translate(error: sqlite3.Error, file: Path) -> WordferryError:
    """What an error of the database means for the user of the index."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
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
