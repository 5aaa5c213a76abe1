"""A document on its way in, and which fields of a row hold what."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordferry.base.frames import plain_value
from wordferry.errors import FormatError, InputError


@dataclass(frozen=True)
class Record:
    """One document as it was read."""

    text: str | Sequence[str]
    """The text, or its tokens; empty where the source has none."""
    id: str | None = None
    label: str | None = None
    split: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = field(default=None, compare=False, repr=False)
    """The file and line, or the row of the table, for errors."""
    vector: Any = field(default=None, compare=False, repr=False)
    """The vector of the document, where a field of its source holds one."""


TITLE = "title"
"""The metadata that holds a document's title."""


@dataclass(frozen=True)
class Fields:
    """Which fields of a row hold what. One named otherwise than by default must be there."""

    text: str = "text"
    id: str = "id"
    label: str = "label"
    split: str | None = "split"
    """None: there is no such field, and one of that name is metadata."""
    skip: frozenset[str] = frozenset()
    """Fields that are left out."""
    more: tuple[str, ...] = ()
    """Further fields whose texts follow that of ``text``, as a body follows a headline."""
    title: str = TITLE
    """The field that becomes the metadata ``title``."""
    vector: str | None = None
    """The field that holds a vector of the document, if there is one."""

    @classmethod
    def of(
        cls,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        split: str | None = "split",
        skip: Iterable[str] | str = (),
        title: str = TITLE,
        vector: str | None = None,
    ) -> Fields:
        """Check the names of a caller; ``text`` may be several names, ``skip`` one."""
        texts = [text] if isinstance(text, str) or not isinstance(text, Iterable) else list(text)
        left_out = frozenset([skip] if isinstance(skip, str) else skip)
        for name in (*texts, id, label, "" if split is None else split, title, *left_out):
            if not isinstance(name, str):
                raise InputError(f"The names of fields are str, got {type(name).__name__} ({name!r}).")
        if not texts or len(set(texts)) < len(texts):
            raise InputError(f"text= takes one field or several different ones, got {texts!r}.")
        if skipped := left_out.intersection(texts):
            raise InputError(f"The field {min(skipped)!r} holds the text, so it cannot be skipped.")
        return cls(texts[0], id, label, split, left_out, tuple(texts[1:]), title, vector)

    @property
    def named(self) -> bool:
        """True when a field is named otherwise than by default."""
        return self not in (Fields(), Fields(split=None))

    def record(self, row: Mapping[str, Any], where: str) -> Record:
        """The record of one row; ``where`` names the file and line in errors."""
        text = self.text_of(row, where)
        values = {name: self._optional(row, name, where) for name in ("id", "label", "split")}
        used = {self.text, *self.more, self.id, self.label, self.split, self.vector, *self.skip}
        metadata = {str(key): plain_value(value) for key, value in row.items() if key not in used}
        if self.title != TITLE or self.title in self.more or self.title == self.text:
            if self.title not in row:
                raise FormatError(f"{where}: expected a field {self.title!r} with the title, found {listed(row)}.")
            metadata.pop(self.title, None)
            if self.title != self.text or self.more:  # a text alone is not its own title
                metadata = {TITLE: plain_value(row[self.title])} | metadata
        if self.vector is not None and self.vector not in row:
            raise FormatError(f"{where}: expected a field {self.vector!r} with the vector, found {listed(row)}.")
        vector = None if self.vector is None else row[self.vector]
        return Record(text, **values, metadata=metadata, where=where, vector=vector)

    def text_of(self, row: Mapping[str, Any], where: str) -> str | tuple[str, ...]:
        """The text of one row, or its tokens; "" where the row has none (None, NaN)."""
        if not self.more:
            return self._part(row, self.text, where)
        parts = [part for name in (self.text, *self.more) if (part := self._part(row, name, where))]
        if len({type(part) for part in parts}) > 1:
            raise FormatError(f"{where}: the text fields must all be texts, or all lists of tokens.")
        if parts and isinstance(parts[0], tuple):
            return tuple(token for part in parts for token in part)
        return "\n\n".join(map(str, parts))

    def _part(self, row: Mapping[str, Any], name: str, where: str) -> str | tuple[str, ...]:
        if name not in row:
            raise FormatError(
                f"{where}: expected a field {name!r} with the text, found {listed(row)}. "
                "Name the field that holds it with text=."
            )
        text = row[name]
        if not isinstance(text, str):
            text = plain_value(text)
        if text is None:
            return ""
        if isinstance(text, list) and all(isinstance(token, str) for token in text):
            return tuple(text)
        if isinstance(text, str):
            return text
        raise FormatError(
            f"{where}: the field {name!r} must be a text or a list of tokens, got {type(text).__name__}"
            f"{undecoded(text)}."
        )

    def _optional(self, row: Mapping[str, Any], name: str, where: str) -> str | None:
        key = getattr(self, name)
        if key is None or key in self.skip:
            return None
        if key not in row:
            if key != name:
                raise FormatError(f"{where}: expected a field {key!r} with the {name}, found {listed(row)}.")
            return None
        value = plain_value(row[key])
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        raise FormatError(f"{where}: the {name} must be a text or a number, got {type(value).__name__}.")


_SEQUENCES = list, Sequence, np.ndarray
"""In tuples: a union would be made anew for each document."""
_BYTES = bytes, bytearray, memoryview


def document_text(document: Any, where: str) -> str | Sequence[str]:
    """The text or the tokens of one document, in whichever form it was passed.

    A document is a text, a sequence of tokens, a :class:`Record` (or anything else with a ``text``), or a mapping with
    ``text`` or ``tokens``. A missing one (None, NaN, pandas' NA) is the empty text. Bytes, and bags of word numbers as
    gensim makes them, are refused with what to pass instead.
    """
    if isinstance(document, str):
        return document
    if isinstance(document, _SEQUENCES) and not isinstance(document, _BYTES):
        tokens = document if isinstance(document, list) else list(document)
        if set(map(type, tokens)) - {str}:
            for token in tokens:
                if not isinstance(token, str):
                    raise InputError(_not_tokens(tokens, token, where))
        return tokens
    if isinstance(document, Mapping):
        wanted = "tokens" if "text" not in document and "tokens" in document else "text"
        return Fields(text=wanted).text_of(document, where)
    if plain_value(document) is None:
        return ""
    text = getattr(document, "text", None)
    if isinstance(text, str | tuple | list):
        return text
    kind = type(document).__name__
    raise InputError(f"{where} must be a text or a list of tokens, got {kind}{undecoded(document)}.")


def _not_tokens(tokens: Sequence[Any], token: Any, where: str) -> str:
    if all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], int | np.integer) for one in tokens):
        return (
            f"{where} is a bag of (word number, count) pairs, as gensim's doc2bow makes it, and the numbers are those "
            "of gensim's dictionary. Pass the texts or their tokens instead: "
            "[[dictionary[i] for i, n in bag for _ in range(n)] for bag in bags]."
        )
    shown = f"{type(token).__name__} ({reprlib.repr(token)}){undecoded(token)}"
    return f"{where}: tokens must be str, got {shown}."


def undecoded(value: Any) -> str:
    """What to do with bytes, for the end of an error."""
    return ", which must be decoded first: value.decode('utf-8')" if isinstance(value, bytes | bytearray) else ""


def listed(row: Mapping[str, Any]) -> str:
    """The names of a row's fields, for an error."""
    return ", ".join(map(repr, list(row)[:12])) or "no fields"
