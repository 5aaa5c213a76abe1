"""What is counted over a whole collection, for an index that holds one shard of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int64Array
from wordferry.errors import FormatError
from wordferry.find.ranking import Collection, Statistics
from wordferry.find.stems import UInt64Array
from wordferry.index.stored_words import StoredForms
from wordferry.texts.bow import TfIdf
from wordferry.texts.weights import Weighting, weights_of_counts
from wordferry.words.embeddings import Embeddings

KIND = "shard totals"


@dataclass(frozen=True, eq=False)
class Totals:
    """Counts that weights and scores are made of, summed up over all shards of a collection.

    All shards number their words alike, with a vector or without, so that counts can be added.
    """

    documents: int
    tokens: int
    known_tokens: int
    """Those that have a vector."""
    frequencies: Int64Array
    """In how many documents each word of the vocabulary stands."""
    other_frequencies: Int64Array
    """The same of each word without a vector."""
    stems: Int64Array
    """The same of each stem."""
    stem_keys: UInt64Array
    """The keys of these stems, rising."""
    fields: frozenset[str] = frozenset()
    """Every field of the documents' metadata."""

    @property
    def statistics(self) -> Statistics:
        """What scores of word search are made of."""
        return Statistics(self.documents, self.tokens, self.stems)

    @cached_property
    def idf(self) -> TfIdf:
        """The weights of words with vectors, for the tf-idf distances."""
        return TfIdf.of_counts(self.documents, self.frequencies)

    def weighting(self, scheme: str, embeddings: Embeddings, *, others: bool) -> Weighting | None:
        """A scheme of weights, with or without the words that have no vector; None for plain counts."""
        df = np.concatenate([self.frequencies, self.other_frequencies]) if others else self.frequencies
        tokens = self.tokens if others else self.known_tokens
        return weights_of_counts(scheme, self.documents, df, tokens, embeddings)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as a folder with checksums."""
        arrays: dict[str, Any] = {
            "frequencies": self.frequencies,
            "other_frequencies": self.other_frequencies,
            "stems": self.stems,
            "stem_keys": self.stem_keys,
        }
        config = {"documents": self.documents, "tokens": self.tokens, "known_tokens": self.known_tokens}
        storage.write_folder(path, KIND, config | {"fields": sorted(self.fields)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Totals:
        """Read them from such a folder."""
        folder = storage.read_folder(path, KIND, mapped=False)
        if "stem_keys" not in folder.arrays:
            raise FormatError(f"{path} was written by an earlier version. Build the shards again together.")
        values: dict[str, Any] = {**folder.arrays, **folder.config}
        return cls(**values | {"fields": frozenset(values["fields"])})


StemCounts = tuple[UInt64Array, Int64Array]
"""The keys of stems, rising, and in how many documents each stands."""


def stem_counts(collection: Collection) -> StemCounts:
    """Those of an index."""
    forms = collection.forms
    assert isinstance(forms, StoredForms)
    order = np.argsort(forms.stem_keys)
    return forms.stem_keys[order], collection.df[order]


def added(one: StemCounts, other: StemCounts) -> StemCounts:
    """Those of two indexes together."""
    keys, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    df = np.zeros(len(keys), dtype=np.int64)
    np.add.at(df, places, np.concatenate([one[1], other[1]]))
    return keys, df
