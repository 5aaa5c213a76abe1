"""The documents of an index as they are: how many, some of them after others, all of them as a file."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress, no_progress, progress_for
from wordferry.base.writing import RowWriter
from wordferry.errors import InputError, NotFound
from wordferry.index import searching
from wordferry.index.catalogue import damaged
from wordferry.index.filters import compile_filter
from wordferry.index.model import Document, checked_id
from wordferry.index.snapshot import Snapshot
from wordferry.texts.records import Fields, KeptText

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from wordferry.index.catalogue import Catalogue

_BLOCK = 1000


class Listing:
    """The part of :class:`Index` that lists documents; it has no state of its own."""

    path: Path
    _catalogue: Catalogue

    if TYPE_CHECKING:

        def view(self) -> AbstractContextManager[tuple[sqlite3.Connection, Snapshot]]: ...
        def _row(self, connection: sqlite3.Connection, snapshot: Snapshot, columns: str, id: str) -> Any: ...

    def count(self, filter: Mapping[str, Any] | None = None) -> int:
        """How many documents pass a filter."""
        condition = compile_filter(filter)
        with self.view() as (_, snapshot):
            allowed = snapshot.allowed(condition)
            return snapshot.documents if allowed is None else int(np.count_nonzero(allowed))

    def page(
        self,
        limit: int = 100,
        after: str | int | None = None,
        *,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Some documents in the order in which they were added.

        Parameters
        ----------
        limit : how many at most.
        after : an id; the documents that were added after it.
        offset : how many to pass over first. ``after`` is the faster way through a large collection.
        filter : conditions on metadata, as in :meth:`search`.
        """
        limit = min(whole_number(limit, "limit", least=1), sys.maxsize)
        offset = min(whole_number(offset, "offset", least=0), sys.maxsize)
        after = None if after is None else checked_id(after, "page")
        condition = compile_filter(filter)
        with self.view() as (connection, snapshot):
            start = None if after is None else self._row(connection, snapshot, "number", after)
            if after is not None and start is None:
                raise NotFound(f"{self.path} has no document {after!r} to go on after.")
            first = -1 if start is None else int(start[0])
            places = snapshot.places_after(first, snapshot.allowed(condition))[offset : offset + limit]
            if condition is None:
                self._check_list(connection, first, (limit, offset), snapshot.numbers.of(places.tolist()))
            rows = searching.found_documents(self, connection, snapshot, places)
        return [searching.document(row) for row in rows.values()]

    def _check_list(
        self, connection: sqlite3.Connection, first: int, span: tuple[int, int], numbers: list[int]
    ) -> None:
        """The catalogue must list the documents that the segments list."""
        query = "SELECT number FROM documents WHERE number > ? ORDER BY number LIMIT ? OFFSET ?"
        if [row[0] for row in connection.execute(query, (first, *span))] != numbers:
            raise damaged(self._catalogue.file, "the list of documents")

    def documents(self, filter: Mapping[str, Any] | None = None) -> Iterator[Document]:
        """All documents of one state that pass a filter, in the order in which they were added."""
        condition = compile_filter(filter)
        with self.view() as (connection, snapshot):
            places = snapshot.places_after(-1, snapshot.allowed(condition))
            for start in range(0, len(places), _BLOCK):
                some = places[start : start + _BLOCK]
                rows = searching.found_documents(self, connection, snapshot, some)
                yield from map(searching.document, rows.values())

    def export(
        self,
        path: str | os.PathLike[str] | None,
        *,
        format: str | None = None,
        filter: Mapping[str, Any] | None = None,
        text: str = "text",
        id: str = "id",
        label: str = "label",
        progress: ShowProgress = None,
    ) -> int:
        """Write documents into a file that :meth:`add` and ``wordferry index create`` read; how many there were.

        JSON lines and JSON bring back the same documents. In Parquet and CSV a field that a document does not have
        comes back as None, and CSV has no kinds of values: numbers come back as numbers, everything else as text.

        Parameters
        ----------
        path : the file; None for the standard output.
        format : "jsonl", "json", "csv" or "parquet"; None goes by the file's name.
        filter : conditions on metadata, as in :meth:`search`.
        text, id, label : the names of the fields for these. Where the metadata has such a field too, it must have
            another name here, and the same when the file is read.
        """
        own = Fields.of(text, id, label, split=None)
        show = progress_for(progress, "writing documents") or no_progress
        total = self.count(filter)
        with RowWriter(path, format) as rows:
            whole = rows.format in ("jsonl", "json")
            tokenized: bool | None = None
            for document in self.documents(filter):
                if not whole:
                    tokenized = _checked_kind(document, rows.format, tokenized)
                rows.write(_row(document, own))
                if rows.count % _BLOCK == 0:
                    show(rows.count, total)
        show(rows.count, total)
        return rows.count


def _row(document: Document, own: Fields) -> dict[str, Any]:
    """A document as a row of a file."""
    row: dict[str, Any] = {own.id: document.id}
    if document.label is not None:
        row[own.label] = document.label
    row[own.text] = document.text if isinstance(document.text, str) else list(document.text)
    if isinstance(document.text, KeptText):
        row["tokens"] = list(document.text.tokens)
    for key, value in document.metadata.items():
        if key in (own.id, own.text, own.label):
            what = {own.id: "id", own.text: "text", own.label: "label"}[key]
            raise InputError(
                f"The metadata of document {document.id!r} has a field {key!r} of its own. Give the {what} another "
                f"name with {what}=, here and when the file is read."
            )
        row[key] = value
    return row


def _checked_kind(document: Document, format: str, before: bool | None) -> bool:
    """Whether a document is a list of tokens, which not every format can hold."""
    tokenized = not isinstance(document.text, str)
    if (tokenized and format == "csv") or before not in (None, tokenized):
        why = "has no lists" if format == "csv" else "has texts or lists of tokens in a column, not both"
        raise InputError(f"Document {document.id!r} was given as tokens, and {format} {why}. Write .jsonl instead.")
    return tokenized
