"""Groups of documents that stand together on a map, at several levels of detail, named by their own words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Int32Array
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import optional_import
from wordferry.words.vocabulary import Vocabulary

_SHARES = ((25, "eom"), (80, "eom"), (250, "leaf"))
"""From a glance to a close look: a cluster holds at least one in so many documents, and how clusters are picked."""
_LEAST = 5
_WORDS = 3


@dataclass(frozen=True)
class Level:
    """One level of detail."""

    cluster: Int32Array
    """The cluster of each document, -1 for documents between clusters."""
    names: tuple[str, ...]
    """The words that tell each cluster from the rest, the most characteristic first."""


def find_levels(points: Float32Array, counts: sp.csr_array, vocabulary: Vocabulary) -> tuple[Level, ...]:
    """Clusters of the layout, coarse to fine (HDBSCAN); levels that add nothing to the one before are left out."""
    if len(points) < 2 * _LEAST:
        return ()
    optional_import("sklearn", "map")
    from sklearn.cluster import HDBSCAN

    levels: list[Level] = []
    for share, picked in _SHARES:
        size = max(_LEAST, len(points) // share)
        model = HDBSCAN(min_cluster_size=size, min_samples=min(5, size), cluster_selection_method=picked, copy=True)
        labels = model.fit(points.astype(np.float64)).labels_.astype(np.int32)
        found = int(labels.max(initial=-1)) + 1
        if found > (len(levels[-1].names) if levels else 1):
            levels.append(Level(labels, characteristic_words(labels, counts, vocabulary)))
    return tuple(levels)


def characteristic_words(cluster: Int32Array, counts: sp.csr_array, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The words of each cluster whose share of its documents most exceeds their share elsewhere.

    A word's weight is its share of the cluster's documents times the logarithm of that share over its share of all
    documents, so that a word which is everywhere, and a word which is in one document only, both count little.
    """
    number = int(cluster.max(initial=-1)) + 1
    inside = np.flatnonzero(cluster >= 0)
    member = sp.csr_array((np.ones(len(inside)), (cluster[inside], inside)), shape=(number, len(cluster)))
    present = sp.csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)
    documents = sp.csr_array(member @ present)
    sizes = np.bincount(cluster[inside], minlength=number)
    everywhere = (np.bincount(counts.indices, minlength=counts.shape[1]) + 1.0) / (len(cluster) + 1.0)
    names = []
    for row in range(number):
        words = documents.indices[documents.indptr[row] : documents.indptr[row + 1]]
        shares = documents.data[documents.indptr[row] : documents.indptr[row + 1]] / sizes[row]
        weights = shares * np.log(shares / everywhere[words])
        best = words[np.lexsort((words, -weights))[:_WORDS]]
        names.append(" · ".join(vocabulary[int(word)] for word in best))
    return tuple(names)
