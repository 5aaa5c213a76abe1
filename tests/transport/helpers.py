"""Random collections and brute force, for the tests of the exact distances."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from wordferry.words.embeddings import Embeddings


def random_embeddings(words: int, dimensions: int, seed: int = 0, *, duplicates: bool = False) -> Embeddings:
    """Vectors around a few centres; with ``duplicates`` every third word repeats the vector of the one before."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(2, words // 8), dimensions))
    vectors = centres[rng.integers(0, len(centres), words)] + 0.7 * rng.normal(size=(words, dimensions))
    if duplicates:
        vectors[2::3] = vectors[1::3][: len(vectors[2::3])]
    return Embeddings([f"w{i}" for i in range(words)], vectors)


def random_counts(documents: int, words: int, length: int, seed: int = 0) -> sp.csr_array:
    """Counts of about ``length`` tokens a document, every fifth document a copy of the one before."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((documents, words), np.int64)
    for row in range(documents):
        tokens = rng.zipf(1.6, size=max(1, int(rng.integers(length // 2, length * 2)))) % words
        np.add.at(dense[row], rng.permutation(words)[tokens] if row % 2 else tokens, 1)
        if row % 5 == 4:
            dense[row] = dense[row - 1]
    return sp.csr_array(dense)


def brute_force(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest of each row by (value, index)."""
    order = np.argsort(values, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(values, order, axis=1)
