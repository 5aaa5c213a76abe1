"""Small collections with everything that can go wrong: shared words, repeated documents, long and short ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import wordferry

WORDS = 300


def vectors(dimensions: int = 12, seed: int = 0) -> wordferry.Embeddings:
    """Vectors in clusters, two of them equal."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, dimensions))
    matrix = centres[rng.integers(0, 20, WORDS)] + 0.7 * rng.normal(size=(WORDS, dimensions))
    matrix[7] = matrix[8]
    return wordferry.Embeddings([f"w{i}" for i in range(WORDS)], matrix)


def documents(count: int, seed: int, longest: int = 30) -> sp.csr_array:
    """Counts of documents of 1 to ``longest`` words; the third is the second again."""
    rng = np.random.default_rng(seed)
    rows, columns, values = [], [], []
    for row in range(count):
        words = rng.choice(WORDS, int(rng.integers(1, longest + 1)), replace=False)
        rows += [row] * len(words)
        columns += words.tolist()
        values += rng.integers(1, 5, len(words)).tolist()
    matrix = sp.csr_array((values, (rows, columns)), shape=(count, WORDS), dtype=np.int64)
    if count > 3:
        matrix = sp.csr_array(sp.vstack([matrix[[0, 1, 1]], matrix[3:]]))
    return matrix
