"""The queries of a call as counts of words, and as a matrix only for what takes one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array, Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.texts.bow import LookedUp


class Asked:
    """Queries by their known words; making a sparse matrix of one takes longer than all else that is made of it."""

    def __init__(self, bags: Sequence[dict[int, int]], columns: int) -> None:
        self._bags = bags
        self._columns = columns

    @classmethod
    def of(cls, tokens: Sequence[LookedUp]) -> Asked:
        """Queries whose words were looked up, all in the same vocabulary."""
        return cls([words.bag for words in tokens], len(tokens[0].vocabulary) if tokens else 0)

    def __len__(self) -> int:
        return len(self._bags)

    def __getitem__(self, number: int) -> Asked:
        """One of the queries by itself."""
        return Asked([self._bags[number]], self._columns)

    @property
    def sizes(self) -> list[int]:
        """How many different words each query has."""
        return [len(bag) for bag in self._bags]

    def counted(self) -> Iterator[tuple[Int64Array, Float64Array]]:
        """The words of each query, rising, and how often they come."""
        for bag in self._bags:
            ids = sorted(bag)
            yield np.array(ids, dtype=np.int64), np.array([bag[word] for word in ids], dtype=np.float64)

    def rows(self) -> Iterator[tuple[Int64Array, Float32Array]]:
        """The words of each query, rising, and their masses."""
        for bag in self._bags:
            ids, total = sorted(bag), sum(bag.values())
            yield np.array(ids, dtype=np.int64), np.array([bag[word] / total for word in ids], dtype=np.float32)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """One row per query, one column per word of the vocabulary."""
        ids = [sorted(bag) for bag in self._bags]
        counts = [bag[word] for bag, own in zip(self._bags, ids, strict=True) for word in own]
        indices = np.array([word for own in ids for word in own], dtype=np.int32)
        indptr = np.concatenate(([0], np.cumsum([len(own) for own in ids]))).astype(np.int64)
        return sp.csr_array((np.array(counts, dtype=np.int32), indices, indptr), shape=(len(ids), self._columns))
