"""What is counted over a whole collection, for an index that holds one shard of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int64Array
from wordferry.find.ranking import Statistics
from wordferry.find.stems import UInt64Array

KIND = "collection statistics"


@dataclass(frozen=True, eq=False)
class CollectionStatistics(Statistics):
    """Counts that weights and scores are made of, summed up over all shards of a collection.

    All shards number their words alike, so that counts can be added.
    """

    known_tokens: int
    """Tokens that have a vector."""
    frequencies: Int64Array
    """Document frequency of each word, by its number."""
    stem_keys: UInt64Array
    """The keys of the stems, ascending."""
    fields: frozenset[str] = frozenset()
    """Every field of the documents' metadata."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as a folder with checksums."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ("frequencies", "df", "stem_keys")}
        config = {"documents": self.documents, "tokens": self.tokens, "known_tokens": self.known_tokens}
        storage.write_folder(path, KIND, config | {"fields": sorted(self.fields)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CollectionStatistics:
        """Read them from such a folder."""
        folder = storage.read_folder(path, KIND)
        values: dict[str, Any] = {name: np.array(array) for name, array in folder.arrays.items()} | folder.config
        return cls(**values | {"fields": frozenset(values["fields"])})


StemCounts = tuple[UInt64Array, Int64Array]
"""The keys of stems, ascending, and the document frequency of each."""


def stem_counts(keys: UInt64Array, df: Int64Array) -> StemCounts:
    """Those of an index, whose stems have these keys and document frequencies."""
    order = np.argsort(keys)
    return keys[order], df[order]


def added(one: StemCounts, other: StemCounts) -> StemCounts:
    """Those of two indexes together."""
    keys, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    df = np.zeros(len(keys), dtype=np.int64)
    np.add.at(df, places, np.concatenate([one[1], other[1]]))
    return keys, df
