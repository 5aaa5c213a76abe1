"""Documents read from the catalogue, each held to its checksum."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordferry.base.arrays import Int64Array
from wordferry.index.results import Document
from wordferry.index.storage.catalogue import DOCUMENT_COLUMNS, damaged
from wordferry.index.storage.snapshot import Snapshot
from wordferry.index.storage.texts import Unpacker
from wordferry.index.write.entries import stored_text

_VARIABLES = 500
_metadata = json.JSONDecoder().raw_decode
"""What was written as JSON, and compared with its checksum, without looking for blanks around it."""


def as_document(row: tuple[Any, ...]) -> Document:
    """A row of the catalogue as a document."""
    return Document(row[1], stored_text(row[2], row[3]), _metadata(row[5])[0], row[4])


def read_document(connection: sqlite3.Connection, id: str, file: Path) -> Document | None:
    """The document with an id, or None."""
    row = connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE id = ?", (id,)).fetchone()
    return None if row is None else as_document(Unpacker(connection, file).checked(row))


def read_documents(
    connection: sqlite3.Connection, snapshot: Snapshot, rows: Int64Array, file: Path
) -> dict[int, Document]:
    """The documents of some rows of a snapshot, by row."""
    found = _selected(connection, snapshot.numbers.of(rows.tolist()), DOCUMENT_COLUMNS, file)
    whole = Unpacker(connection, file)
    return {place: as_document(whole.checked(row)) for place, row in zip(rows.tolist(), found, strict=True)}


def read_ids(connection: sqlite3.Connection, snapshot: Snapshot, rows: Int64Array, file: Path) -> list[str]:
    """The ids of some rows of a snapshot."""
    return [row[1] for row in _selected(connection, snapshot.numbers.of(rows.tolist()), "number, id", file)]


def _selected(
    connection: sqlite3.Connection, numbers: list[int], columns: str, file: Path
) -> Iterator[tuple[Any, ...]]:
    """Columns of the documents with these numbers, in their order; the first column is the number."""
    found: dict[int, tuple[Any, ...]] = {}
    for start in range(0, len(numbers), _VARIABLES):
        some = numbers[start : start + _VARIABLES]
        marks = ",".join("?" * len(some))
        rows = connection.execute(f"SELECT {columns} FROM documents WHERE number IN ({marks})", some)
        found |= {row[0]: row for row in rows}
    for number in numbers:
        if number not in found:
            raise damaged(file, f"the document with number {number} (it is missing)")
        yield found[number]
