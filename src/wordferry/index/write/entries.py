"""What a user hands in to be stored, checked: documents of any shape become entries, or an error says what is wrong."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from wordferry.base.frames import plain_value
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.index.results import Document, shown
from wordferry.index.storage.columns import LIST
from wordferry.texts.records import Fields, Record, document_text
from wordferry.texts.tables import as_documents, is_table, table_records
from wordferry.texts.tokenizers import KeptText

_OWN_KEYS = ("id", "text", "tokens", "label", "metadata")
_INT64 = 1 << 63
LONGEST_KEY = 256
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_FORBIDDEN = re.compile(r'["\\\x00-\x1f]').search


class Entry(NamedTuple):
    """A checked document on its way into the catalogue."""

    id: str | None
    text: str
    tokenized: int
    """What ``text`` holds: the text (0), a list of its tokens (1), or a list of the text and its tokens (2)."""
    label: str | None
    metadata: str
    words: str | Sequence[str]
    values: dict[str, Any]
    """The metadata as plain values, of which ``metadata`` is the JSON."""
    where: str | None = None
    """The file and line, or the row of the table, that it comes from."""
    vector: Any = None
    """The vector of the document, where the caller brings it."""
    number: int = 0
    """The place of the document among those that were given, from 0."""

    @property
    def called(self) -> str:
        """How an error names the document."""
        return f"Document {self.number}{'' if self.id is None else f' (id {self.id!r})'}"


def entries(documents: Any, fields: Fields | None = None, vectors: Any = None) -> Iterator[Entry]:
    """Check documents as they come: texts, token lists, records, mappings with a text, or the rows of a table.

    ``fields`` says which fields of a table or of mappings hold what, where they are named otherwise than by default;
    ``vectors`` are those that a caller brings: a field's name, or one for each.
    """
    wanted = fields or Fields()
    if isinstance(vectors, str):
        wanted, vectors = replace(wanted, vector=vectors), None
    text = documents.get(wanted.text) if isinstance(documents, Mapping) else None  # which no table of columns has
    if isinstance(documents, str | Record) or isinstance(text, str):
        raise InputError("Expected a list of documents, got one document. Put it in a list: [document].")
    documents = table_records(documents, wanted) if is_table(documents) else as_documents(documents)
    if not isinstance(documents, Iterable):
        raise InputError(f"Expected a list of documents, got {type(documents).__name__}.")
    named, rows, count = wanted.named, iter(() if vectors is None else vectors), 0
    for number, document in enumerate(documents):
        if named and isinstance(document, Mapping):
            document = _named_record(document, wanted, f"Document {number}")
        entry, count = _entry(document, number), number + 1
        if vectors is not None:
            entry = entry._replace(vector=next(rows, None))
            if entry.vector is None:
                raise InputError(f"There are {number} vectors, and more documents than that. Nothing was added.")
        yield entry
    if next(rows, None) is not None:
        raise InputError(f"There are {count} documents, and more vectors than that. Nothing was added.")


def _entry(document: Any, number: int) -> Entry:
    where, vector = f"Document {number}", None
    if isinstance(document, Document):
        document = Record(document.text, document.id, document.label, metadata=document.metadata)
    if isinstance(document, Record):
        metadata = dict(document.metadata)
        if document.split is not None:
            metadata.setdefault("split", document.split)
        parts, vector = (document.id, document.text, document.label, metadata), document.vector
    elif isinstance(document, Mapping):
        parts = _from_mapping(document, where)
    else:
        parts = (None, document, None, {})
    given_id, words, label, metadata = parts
    identifier = None if given_id is None else checked_id(given_id, where)
    if identifier is not None:
        where = f"{where} ({identifier!r})"
    if label is not None and not isinstance(label, str):
        label = _checked_label(label, where)
    words, text, tokenized = _checked_text(words, where)
    check_encodable(text if label is None else text + label, where)
    values = checked_metadata(metadata, where)
    source = getattr(document, "where", None)
    written = _as_json(values) if values else "{}"
    check_encodable(written, where)
    return Entry(identifier, text, tokenized, label, written, words, values, source, vector, number)


def _from_mapping(document: Mapping[str, Any], where: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    words = document.get("text", document.get("tokens"))
    if "text" not in document and "tokens" not in document:
        raise InputError(f"{where} must have a 'text' or 'tokens'; its keys are {sorted(map(str, document))}.")
    if document.get("tokens") is not None and "text" in document:
        if not isinstance(words, str):
            raise InputError(f"{where} has 'tokens' beside a 'text' that is a {type(words).__name__}: leave one out.")
        _checked_text(document["tokens"], where)
        words = KeptText(words, document["tokens"])
    given = document.get("metadata")
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"{where}: metadata must be a flat object, got {type(given).__name__}.")
    beside = {key: value for key, value in document.items() if key not in _OWN_KEYS}
    return document.get("id"), words, document.get("label"), _joined(given or {}, beside, where)


def _named_record(document: Mapping[str, Any], fields: Fields, where: str) -> Record:
    """The record of a mapping whose fields are named, with the values of its field "metadata" beside its others."""
    record = fields.record(document, where)
    nested = record.metadata.get("metadata")
    if nested is not None and not isinstance(nested, Mapping):
        return record
    beside = {key: value for key, value in record.metadata.items() if key != "metadata"}
    return replace(record, metadata=_joined(nested or {}, beside, where))


def _joined(nested: Mapping[str, Any], beside: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The metadata of a document, from an object of its own and from beside the text."""
    for key in beside:
        if key in nested:
            raise InputError(f"{where}: {key!r} stands both beside the text and in its metadata.")
    return {**nested, **beside}


def checked_id(value: Any, where: str) -> str:
    """A document id: a str that is not empty; whole numbers are taken as their digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: an id is a str that is not empty, got {shown(value)}.")
    check_encodable(value, where)
    return value


def _checked_label(value: Any, where: str) -> str | None:
    """A label that is no text: numbers are taken as they are written, as in tables."""
    label = plain_value(value)
    if isinstance(label, bool | int | float):
        return json.dumps(label)
    if label is not None and not isinstance(label, str):
        raise InputError(f"{where}: the label must be a text or a number, got {type(value).__name__}.")
    return label


def _checked_text(given: Any, where: str) -> tuple[str | Sequence[str], str, int]:
    """A text, what is stored of it, and whether that is the text (0), its tokens (1) or both (2)."""
    if isinstance(given, KeptText):
        return given, json.dumps([given, *given.tokens], ensure_ascii=False), 2
    if isinstance(given, str):
        return given, given, 0
    if isinstance(given, Mapping) or hasattr(given, "text"):
        raise InputError(f"{where}: the text must be a str or a list of tokens, got {type(given).__name__}.")
    words = document_text(given.tolist() if isinstance(given, np.ndarray) else given, where)
    return (words, words, 0) if isinstance(words, str) else (words, json.dumps(words, ensure_ascii=False), 1)


def check_encodable(text: str, where: str) -> None:
    """Refuse a text that cannot be stored as UTF-8."""
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{where} holds a character that is not valid Unicode: {error}.") from None


def checked_metadata(metadata: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Metadata as plain values: a flat object of str, finite numbers of 64 bits, bool and None, and lists of those.

    Values of other libraries are made plain first: NumPy's numbers, NaN (None), dates (ISO 8601 text).
    """
    values = {key: plain_value(value) for key, value in metadata.items()}
    for key, value in values.items():
        check_key(key, where)
        for one in value if isinstance(value, list) else (value,):
            _check_value(key, one, where)
    return values


def is_plain(value: Any) -> bool:
    """Whether a value is None, a bool, a whole number of 64 bits, or a finite one."""
    if isinstance(value, int):
        return -_INT64 <= value < _INT64
    return value is None or (isinstance(value, float) and math.isfinite(value))


def _check_value(key: str, value: Any, where: str) -> None:
    if isinstance(value, str):
        if value.startswith(LIST):
            raise InputError(f"{where}: metadata {key!r} begins with a mark that is kept for lists.")
        return
    if is_plain(value):
        return
    if isinstance(value, int):
        raise InputError(f"{where}: metadata {key!r} is {shown(value)}, which does not fit into 64 bits.")
    if isinstance(value, float):
        raise InputError(f"{where}: metadata {key!r} is {value}; numbers must be finite.")
    raise InputError(
        f"{where}: metadata {key!r} is a {type(value).__name__}; a value must be a str, number, bool, None, or a flat "
        "list of those. Leave the field out with skip=, or write it as text."
    )


def check_key(key: Any, where: str) -> None:
    """A metadata key: a str without quotes, backslashes or control characters, so that a filter can name it."""
    if not isinstance(key, str) or not key or _FORBIDDEN(key) is not None:
        raise InputError(
            f"{where}: a metadata key is a str that is not empty, without quotes, backslashes or control "
            f"characters; got {shown(key)}."
        )
    if len(key) > LONGEST_KEY:
        raise InputError(f"{where}: a metadata key is at most {LONGEST_KEY} characters long; got {len(key)}.")
    check_encodable(key, where)


def refuse_empty(entry: Entry) -> None:
    """Refuse a document without words."""
    text = f"its text is {shown(entry.words)}" if entry.words else "it is empty"
    problem = f"{entry.called} has no words: {text}. Nothing was added."
    raise EmptyDocumentError(problem, ("drop", "store them, never to be found, with on_empty='keep'"))


def refuse_twice(chunk: list[Entry]) -> None:
    """Refuse documents of which two have the same id."""
    for identifier, count in Counter(entry.id for entry in chunk if entry.id is not None).items():
        if count > 1:
            raise appears_twice(identifier, [entry for entry in chunk if entry.id == identifier])


def appears_twice(identifier: str, chosen: Sequence[Entry]) -> InputError:
    """The error for an id that two documents have; of ``chosen`` it says where they come from, or their places."""
    where = " and ".join(entry.where or f"document {entry.number}" for entry in chosen)
    return InputError(f"The id {identifier!r} appears twice among these documents ({where}). Nothing was added.")
