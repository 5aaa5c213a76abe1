"""Documents that an index refuses, each with what to do about it."""

from __future__ import annotations

from collections import Counter

from wordferry.errors import EmptyDocumentError, InputError
from wordferry.index.model import Entry, shown


def refuse_empty(chunk: list[Entry], offset: int, place: int) -> None:
    """Refuse a document without words."""
    entry = chunk[place]
    name = "" if entry.id is None else f" (id {entry.id!r})"
    text = f"its text is {shown(entry.words)}" if entry.words else "it is empty"
    raise EmptyDocumentError(
        f"Document {offset + place}{name} has no words: {text}. Nothing was added. Leave such documents out, or create "
        "the index with on_empty='drop' (they are left out) or on_empty='keep' (they are stored and never found)."
    )


def refuse_twice(chunk: list[Entry]) -> None:
    """Refuse documents of which two have the same id."""
    given = [entry.id for entry in chunk if entry.id is not None]
    if len(set(given)) < len(given):
        raise appears_twice(next(i for i, count in Counter(given).items() if count > 1))


def appears_twice(identifier: str) -> InputError:
    """The error for an id that two documents have."""
    return InputError(f"The id {identifier!r} appears twice among these documents. Nothing was added.")
