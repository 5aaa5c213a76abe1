"""Filling an index with a large collection in steps, and going on where an earlier attempt was stopped.

The catalogue keeps how many documents of the collection were looked at, and a checksum of them, in the transaction that
stores them; so a collection that is passed again is passed over up to there, and found out if it is another one.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from wordferry.errors import FormatError, InputError
from wordferry.index.storage.catalogue import get_meta
from wordferry.index.write.entries import Entry

META = "filled"
_END = "\x00\n"


@dataclass(frozen=True)
class Filled:
    """How far a collection was read."""

    documents: int = 0
    """Documents that were looked at."""
    stored: int = 0
    """Those of them that were stored: not dropped for having no words."""
    checksum: int = 0
    done: bool = False

    @classmethod
    def read(cls, connection: sqlite3.Connection, file: Path) -> Filled:
        """What the catalogue says."""
        found = get_meta(connection, META, file)
        try:
            return cls(**(found or {}))
        except TypeError:
            raise FormatError(f"{file} is damaged: the entry {META!r} is not what was written.") from None

    def after(self, chunk: list[Entry], stored: int) -> Filled:
        """After some more documents."""
        text = "".join([f"{entry.id}{_END}{entry.text}{_END}" for entry in chunk])
        checksum = zlib.crc32(text.encode("utf-8"), self.checksum)
        return Filled(self.documents + len(chunk), self.stored + stored, checksum)

    def to_json(self, *, done: bool) -> dict[str, Any]:
        return asdict(self) | {"done": done}


def skip(source: Iterator[Entry], filled: Filled, chunk: int, report: Callable[[int], object]) -> None:
    """Pass over the documents that an earlier call has stored; they must be the same."""
    seen = Filled()
    while seen.documents < filled.documents:
        some = list(islice(source, min(chunk, filled.documents - seen.documents)))
        if not some:
            raise InputError(
                f"The call that was stopped had stored {filled.documents} documents, and these are {seen.documents} in "
                "all. Pass the same documents again, or make a new index."
            )
        seen = seen.after(some, 0)
        report(seen.documents)
    if seen.checksum != filled.checksum:
        raise InputError(
            f"The first {filled.documents} documents are not those that were stored before the call was stopped. Pass "
            "the same documents in the same order, or make a new index."
        )


def unfinished(folder: Path, filled: Filled) -> InputError:
    """The error for beginning anew in an index that is half filled."""
    return InputError(
        f"{folder} was being filled and holds the first {filled.documents} documents of a collection. Go on with "
        "resume=True, or make a new index."
    )


def stored_before(error: InputError, count: int) -> InputError:
    """An error of a step, when earlier steps have stored documents."""
    if not count:
        return error
    text = str(error).replace(" Nothing was added.", "")
    return type(error)(f"{text} The {count} documents of earlier steps are stored; go on after them with resume=True.")
