"""Related words: each word's r nearest others as a symmetric graph, and c_max, the distance of all other pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from wordferry.embeddings import Embeddings
from wordferry.errors import InputError
from wordferry.vocabulary import Vocabulary

DEFAULT_R = 16


class RelatedWords:
    """The related-word cache C of Werner & Laber (2020), section 3.2.1."""

    def __init__(self, vocabulary: Vocabulary, graph: sp.csr_array, r: int, c_max: float, fingerprint: str) -> None:
        self.vocabulary = vocabulary
        self.graph = graph
        self.r = r
        self.c_max = c_max
        self.fingerprint = fingerprint

    @classmethod
    def build(cls, embeddings: Embeddings, r: int = DEFAULT_R, method: str = "auto") -> RelatedWords:
        """Find the r nearest words of each word (exact)."""
        if r < 1:
            raise InputError(f"r must be at least 1, got {r}.")
        x = embeddings.matrix
        n = len(x)
        own = min(r, n - 1)
        rows, columns, values = [], [], []
        total = 0.0
        for i in range(n):
            distance = np.sqrt(np.maximum(((x - x[i]) ** 2).sum(axis=1, dtype=np.float64), 0))
            distance[i] = np.inf
            order = np.lexsort((np.arange(n), distance))[: n - 1]
            rows += [i] * own
            columns += order[:own].tolist()
            values += distance[order[:own]].tolist()
            total += float(distance[order[own:]].sum())
        graph = sp.csr_array((np.array(values, dtype=np.float32), (rows, columns)), shape=(n, n))
        graph = graph.maximum(graph.T).tocsr()
        left = n * (n - 1 - own)
        return cls(embeddings.vocabulary, graph, r, total / left if left else math.nan, embeddings.fingerprint)

    def cost_lookup(self) -> dict[int, dict[int, float]]:
        """The graph as nested dicts, for the reference implementations."""
        result: dict[int, dict[int, float]] = {}
        g: Any = self.graph
        for i in range(g.shape[0]):
            span = slice(g.indptr[i], g.indptr[i + 1])
            result[i] = dict(zip(g.indices[span].tolist(), g.data[span].tolist(), strict=True))
        return result
