"""Documents written into a file that can be read again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wordferry.base.runtime import Progress
from wordferry.base.writing import RowWriter
from wordferry.errors import InputError
from wordferry.index.results import Document
from wordferry.texts.records import Fields
from wordferry.texts.tokenizers import KeptText

_BLOCK = 1000


def export_documents(
    documents: Iterable[tuple[Document, Any]], total: int, own: Fields, target: tuple[Any, str | None], show: Progress
) -> int:
    """Write documents, each with its vector or None, to a path in a format; how many there were.

    ``own`` has the names of the fields.
    """
    with RowWriter(*target) as rows:
        whole = rows.format in ("jsonl", "json")
        kinds: set[str] = set()
        if own.vector is not None and rows.format == "csv":
            raise InputError("csv has no lists, so it cannot hold vectors. Write .jsonl or .parquet instead.")
        for document, vector in documents:
            kinds.add(kind := "a text" if isinstance(document.text, str) else "tokens")
            if not whole and (len(kinds) > 1 or (rows.format == "csv" and kind == "tokens")):
                why = "has no lists" if rows.format == "csv" else "has texts or lists of tokens in a column, not both"
                raise InputError(
                    f"Document {document.id!r} was given as {kind}, and {rows.format} {why}. Write .jsonl instead."
                )
            more = {} if own.vector is None else {own.vector: [float(value) for value in vector]}
            rows.write(_row(document, own) | more)
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
    named = {own.id: "id", own.text: "text", own.label: "label", own.vector: "vectors"}
    for key, value in document.metadata.items():
        if what := named.get(key):
            raise InputError(
                f"The metadata of document {document.id!r} has a field {key!r} of its own. Give the {what} another "
                f"name with {what}=, here and when the file is read."
            )
        row[key] = value
    return row
