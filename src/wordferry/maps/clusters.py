"""Groups of documents that stand together on a map, at several levels of detail, named by their own words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Int32Array, Int64Array, Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import optional_import
from wordferry.words.vocabulary import Vocabulary

_SHARES = ((25, "eom"), (80, "eom"), (250, "leaf"))
"""From a glance to a close look: a cluster holds at least one in this many documents, and how clusters are picked."""
_LEAST = 5
_WORDS = 3
_ROUNDS = 10


@dataclass(frozen=True)
class Level:
    """One level of detail."""

    cluster: Int32Array
    """The cluster of each document, -1 for those that belong to none."""
    names: tuple[str, ...]
    """The words that tell each cluster from the rest, the most characteristic first."""


def find_levels(
    points: Float32Array, near: Neighbors, counts: sp.csr_array, vocabulary: Vocabulary
) -> tuple[Level, ...]:
    """Clusters of the layout, coarse to fine (HDBSCAN); levels that add nothing to the one before are left out.

    HDBSCAN leaves out what stands between clusters. Such a document joins the cluster that most of its neighbours
    belong to, if these are a fifth of them at least.
    """
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
            labels = joined(labels, near.indices)
            levels.append(Level(labels, characteristic_words(labels, counts, vocabulary)))
    return tuple(levels)


def joined(cluster: Int32Array, near: Int64Array) -> Int32Array:
    """Clusters with the documents that a fifth of their neighbours' votes bring in, round after round.

    >>> joined(np.array([0, 0, -1, -1], np.int32), np.array([[1, 2], [0, 2], [0, 1], [-1, -1]])).tolist()
    [0, 0, 0, -1]
    """
    found, number = cluster.copy(), int(cluster.max(initial=-1)) + 1
    for _ in range(_ROUNDS):
        out = np.flatnonzero(found < 0)
        votes = np.where(near[out] >= 0, found[near[out]], -1)
        row, place = np.nonzero(votes >= 0)
        counts = np.bincount(row * number + votes[row, place], minlength=len(out) * number).reshape(len(out), number)
        enough = counts.max(axis=1, initial=0) * 5 >= near.shape[1]
        if not enough.any():
            break
        found[out[enough]] = counts[enough].argmax(axis=1)
    return found


def representatives(cluster: Int32Array, near: Int64Array, count: int = 3) -> list[list[int]]:
    """The documents of each cluster that most of its members have among their nearest."""
    number = int(cluster.max(initial=-1)) + 1
    links = (near >= 0) & (cluster[:, None] >= 0) & (cluster[near] == cluster[:, None])
    named = np.bincount(near[links], minlength=len(cluster))
    order = np.lexsort((np.arange(len(cluster)), -named))
    return [order[cluster[order] == one][:count].tolist() for one in range(number)]


def characteristic_words(
    cluster: Int32Array, counts: sp.csr_array, vocabulary: Vocabulary, number_of_words: int = _WORDS
) -> tuple[str, ...]:
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
        best = words[np.lexsort((words, -weights))[:number_of_words]]
        names.append(" · ".join(vocabulary[int(word)] for word in best))
    return tuple(names)
