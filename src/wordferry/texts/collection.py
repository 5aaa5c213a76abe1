"""A labelled data set and its divisions into training and test documents, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.errors import FormatError
from wordferry.texts.documents import Record
from wordferry.words.embeddings import Embeddings


@dataclass(frozen=True)
class Split:
    """One division into training and test documents, by their numbers."""

    train: Int64Array
    test: Int64Array


@dataclass(frozen=True)
class Collection:
    """A labelled data set with one or more divisions into training and test documents."""

    name: str
    records: tuple[Record, ...]
    splits: tuple[Split, ...]
    embeddings: Embeddings | None = None
    """The word vectors, where the files carry them (Kusner's do)."""

    @property
    def texts(self) -> list[Any]:
        """Texts or token lists, in order."""
        return [record.text for record in self.records]

    @property
    def labels(self) -> list[str]:
        """The label of each document."""
        return [str(record.label) for record in self.records]

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, {len(self.records)} documents, {len(self.splits)} splits)"


def split_of(train: Int64Array, test: Int64Array, number: int, source: Path) -> Split:
    """A division whose two sides are not empty and share no document."""
    if not len(train) or not len(test):
        raise FormatError(f"{source}: split {number} has {len(train)} training and {len(test)} test documents.")
    both = np.intersect1d(train, test)
    if len(both):
        raise FormatError(f"{source}: in split {number} document {both[0]} is on both sides.")
    return Split(train.astype(np.int64), test.astype(np.int64))
