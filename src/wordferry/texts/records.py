"""A document on its way in, and which fields of a row hold what."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wordferry.base.values import plain_value
from wordferry.errors import FormatError, InputError


class KeptText(str):
    """A text beside the tokens that were made of it elsewhere: people read the one, what compares takes the others."""

    tokens: tuple[str, ...]

    def __new__(cls, text: str, tokens: Iterable[str]) -> KeptText:
        made = super().__new__(cls, text)
        made.tokens = tuple(tokens)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.tokens


def words_of(text: str | Sequence[str], tokenizer: Callable[[str], list[str]]) -> list[str]:
    """The words of a document: its own tokens where it has them, else what the tokenizer makes of its text."""
    if isinstance(text, KeptText):
        return list(text.tokens)
    return tokenizer(text) if isinstance(text, str) else list(text)


@dataclass(frozen=True)
class Record:
    """One document as it was read."""

    text: str | Sequence[str]
    """The text, or its tokens."""
    id: str | None = None
    label: str | None = None
    split: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


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

    @classmethod
    def of(
        cls,
        text: str = "text",
        id: str = "id",
        label: str = "label",
        split: str | None = "split",
        skip: Iterable[str] | str = (),
    ) -> Fields:
        """Check the names of a caller; ``skip`` may be one name."""
        left_out = frozenset([skip] if isinstance(skip, str) else skip)
        for name in (text, id, label, "" if split is None else split, *left_out):
            if not isinstance(name, str):
                raise InputError(f"The names of fields are str, got {type(name).__name__} ({name!r}).")
        if text in left_out:
            raise InputError(f"The field {text!r} holds the text, so it cannot be skipped.")
        return cls(text, id, label, split, left_out)

    @property
    def named(self) -> bool:
        """True when a field is named otherwise than by default."""
        return self not in (Fields(), Fields(split=None))

    def record(self, row: Mapping[str, Any], where: str) -> Record:
        """The record of one row; ``where`` names the file and line in errors."""
        text = self.text_of(row, where)
        values = {name: self._optional(row, name, where) for name in ("id", "label", "split")}
        used = {self.text, self.id, self.label, self.split, *self.skip}
        metadata = {str(key): plain_value(value) for key, value in row.items() if key not in used}
        return Record(text, **values, metadata=metadata)

    def text_of(self, row: Mapping[str, Any], where: str) -> str | tuple[str, ...]:
        """The text of one row, or its tokens."""
        if self.text not in row:
            raise FormatError(
                f"{where}: expected a field {self.text!r} with the text, found {listed(row)}. "
                "Name the field that holds it with text=."
            )
        text = row[self.text]
        if not isinstance(text, str):
            text = plain_value(text)
        if isinstance(text, list) and all(isinstance(token, str) for token in text):
            return tuple(text)
        if isinstance(text, str):
            return text
        kind = "nothing" if text is None else type(text).__name__
        raise FormatError(f"{where}: the field {self.text!r} must be a text or a list of tokens, got {kind}.")

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


def listed(row: Mapping[str, Any]) -> str:
    """The names of a row's fields, for an error."""
    return ", ".join(map(repr, list(row)[:12])) or "no fields"
