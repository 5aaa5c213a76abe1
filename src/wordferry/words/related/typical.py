"""The distance of two words of a vocabulary that have nothing to do with each other: c_max without a graph."""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from wordferry.kernels import native
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords

_SMALL = 2_000
"""The most words of which every pair is looked at."""
_PAIRS = 1 << 18
"""Pairs that are drawn of a larger vocabulary: the standard error of their mean is about 0.0003 for unit vectors."""
_known: WeakKeyDictionary[Embeddings, float] = WeakKeyDictionary()
_lock = Lock()


def typical_distance(embeddings: Embeddings) -> float:
    """The mean distance of words that are not related, over the whole vocabulary of some vectors.

    It is what a word without a vector costs in the distances that use no related words. Small vocabularies are
    averaged as the definition of c_max says (where every pair is related, it is the largest distance); of a large one,
    2**18 pairs are drawn, always the same ones.
    """
    embeddings = embeddings.stored
    with _lock:
        found = _known.get(embeddings)
        if found is None:
            found = _known[embeddings] = _small(embeddings) if len(embeddings) <= _SMALL else _drawn(embeddings)
    return found


def _small(embeddings: Embeddings) -> float:
    if len(embeddings) < 2:
        return 1.0  # there is no other word to be far from
    c_max = RelatedWords.build(embeddings, min(DEFAULT_R, len(embeddings) - 1), threads=1).c_max
    if np.isfinite(c_max):
        return float(c_max)
    rows, columns = np.triu_indices(len(embeddings), 1)
    return float(_distances(embeddings, rows, columns).max())


def _drawn(embeddings: Embeddings) -> float:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(embeddings), _PAIRS)
    columns = (rows + rng.integers(1, len(embeddings), _PAIRS)) % len(embeddings)  # never the word itself
    return float(_distances(embeddings, rows, columns).mean())


def _distances(embeddings: Embeddings, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    a, b = rows.astype(np.int32), columns.astype(np.int32)
    return native.pair_distances(embeddings.matrix, embeddings.matrix, a, b, 1)
