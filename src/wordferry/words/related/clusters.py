"""Related words by k-means: each word is compared with the words of a few clusters only."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordferry.base.arrays import Float32Array, Int32Array
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Progress, logger, run_jobs
from wordferry.kernels import native
from wordferry.kernels.native import Candidates, Points
from wordferry.words.related.exact import OwnLists, ranked_lists, scaled_points

TARGET_RECALL = 0.91
"""The automatic choice of probes is the smallest whose recall on a sample of words is at least this."""
CHOICE_WORDS = 1000
"""Words on which the number of probes is chosen."""
RECALL_WORDS = 500
"""Other words, on which the recall of the result is measured."""
SAMPLE_PAIRS = 1 << 19
_START_WORDS = 64
_TILE = 2048


@dataclass(frozen=True)
class ClusterOptions:
    """What decides the answer, besides the vectors and r."""

    iterations: int
    probes: int | None
    seed: int


@dataclass(frozen=True)
class ClusterResult:
    """Own lists and what is known about them."""

    lists: OwnLists
    clusters: int
    probes: int
    recall: float
    recall_words: int
    sample_pairs: int
    standard_error: float


@dataclass(frozen=True)
class _Run:
    """What every step needs."""

    points: Points
    threads: int
    memory: int

    @property
    def n(self) -> int:
        return len(self.points.norms)

    def side(self) -> int:
        return min(_TILE, max(64, int((self.memory / 4 / self.threads) ** 0.5)))


def cluster_count(n: int, iterations: int) -> int:
    """k = sqrt(n / I), which minimises n d k I + n^2 d / k (section 3.2.1)."""
    return max(1, round(math.sqrt(n / iterations)))


def build_clusters(
    matrix: Float32Array, r: int, options: ClusterOptions, *, memory: int, threads: int, progress: Progress
) -> ClusterResult:
    """Own lists from the words of ``probes`` clusters per word (1: the paper's), in both directions.

    A pair is looked at when either word's probes contain the other's cluster. Words that meet fewer than r others
    this way are compared with all words, so that every word has exactly r own neighbours.
    """
    points, unit = scaled_points(matrix)
    run = _Run(points, threads, memory)
    rng = np.random.default_rng(options.seed)
    clusters = cluster_count(run.n, options.iterations)
    centroids = k_means(run, clusters, options.iterations, rng)
    probes = options.probes
    if probes is None:
        probes = _choose_probes(run, centroids, r, rng)
    probes = min(probes, clusters)
    nearest = _assign(run, centroids, probes)
    candidates = Candidates(run.n, r)
    _compare(run, candidates, nearest, clusters, progress)
    short = np.flatnonzero(candidates.counts < r).astype(np.int32)
    if len(short):
        _compare_with_all(run, candidates, short)
    lists = ranked_lists(points, candidates, np.arange(run.n, dtype=np.int32), threads, unit)
    del candidates
    recall, words = measured_recall(points, lists.own, rng, threads=threads, memory=memory)
    lists, pairs, error = with_sampled_total(matrix, lists, rng, threads)
    return ClusterResult(lists, clusters, probes, recall, words, pairs, error)


def k_means(run: _Run, clusters: int, iterations: int, rng: np.random.Generator) -> Float32Array:
    """Lloyd's iterations over all words from a k-means++ start; a cluster that loses all words keeps its centroid."""
    vectors = run.points.vectors
    centroids = _k_means_start(vectors, clusters, rng)
    for _ in range(iterations):
        labels = _assign(run, centroids, 1)[:, 0]
        members = _members(labels, clusters)
        counts = np.diff(members.indptr)
        means = np.asarray(members @ vectors, dtype=np.float32) / np.maximum(counts, 1).astype(np.float32)[:, None]
        centroids = np.where(counts[:, None] > 0, means, centroids)
    return np.ascontiguousarray(centroids, dtype=np.float32)


def _k_means_start(vectors: Float32Array, clusters: int, rng: np.random.Generator) -> Float32Array:
    """k-means++ (Arthur & Vassilvitskii 2007) on a uniform sample of 64 words a cluster."""
    size = min(len(vectors), _START_WORDS * clusters)
    sample = vectors[np.sort(rng.choice(len(vectors), size, replace=False))]
    norms = np.einsum("ij,ij->i", sample, sample)
    chosen = [int(rng.integers(size))]
    squares = np.full(size, np.inf)
    for _ in range(clusters - 1):
        last = chosen[-1]
        squares = np.minimum(squares, np.maximum(norms + norms[last] - 2 * (sample @ sample[last]), 0))
        squares[last] = 0
        summed = np.cumsum(squares)
        if summed[-1] <= 0:  # fewer different vectors than clusters
            chosen.append(int(rng.integers(size)))
        else:
            chosen.append(min(int(np.searchsorted(summed, rng.random() * summed[-1], side="right")), size - 1))
    result: Float32Array = sample[chosen]
    return result


def _members(labels: Int32Array, clusters: int) -> sp.csr_array:
    """The 0/1 matrix (clusters x words) of who is where."""
    n = len(labels)
    rows = sp.csr_array((np.ones(n, np.float32), labels, np.arange(n + 1)), shape=(n, clusters))
    return rows.T.tocsr()


def _assign(run: _Run, centroids: Float32Array, count: int) -> Int32Array:
    """The ``count`` nearest centroids of every word, nearest first."""
    half_norms = (np.einsum("ij,ij->i", centroids, centroids) / 2).astype(np.float32)
    out = np.empty((run.n, count), np.int32)
    step = max(64, min(4096, run.memory // 4 // run.threads // max(1, len(centroids))))

    def work(start: int) -> float:
        products = run.points.vectors[start : start + step] @ centroids.T
        out[start : start + step] = native.nearest_centroids(products, half_norms, count)
        return 0.0

    run_jobs(range(0, run.n, step), work, run.threads, lambda done, total: None)
    return out


def _choose_probes(run: _Run, centroids: Float32Array, r: int, rng: np.random.Generator) -> int:
    """The smallest number of probes that would find TARGET_RECALL of the true neighbours of a sample of words.

    It is known before any comparison: j is found for i when j's cluster is among the first probes of i, or i's among
    those of j.
    """
    words = _sample_words(run.n, CHOICE_WORDS, rng)
    true = true_neighbours(run.points, words, r, threads=run.threads, memory=run.memory)
    rows = np.repeat(np.arange(len(words)), true.shape[1])
    others = np.unique(true)
    mine, theirs = _cluster_ranks(run, words, centroids), _cluster_ranks(run, others, centroids)
    place = np.searchsorted(others, true.ravel())
    homes, other_homes = mine.argmin(axis=1), theirs.argmin(axis=1)
    needed = np.minimum(mine[rows, other_homes[place]], theirs[place, homes[rows]]) + 1
    reached = np.cumsum(np.bincount(needed, minlength=len(centroids) + 1)) / len(needed)
    probes = max(1, int(np.searchsorted(reached, TARGET_RECALL)))
    logger.debug("probes: %d of %d clusters, expected recall %.3f", probes, len(centroids), reached[probes])
    return probes


def _cluster_ranks(run: _Run, words: Int32Array, centroids: Float32Array) -> Int32Array:
    """For some words, the place of every cluster in their order of clusters (0: their own)."""
    half_norms = (np.einsum("ij,ij->i", centroids, centroids) / 2).astype(np.float32)
    order = native.nearest_centroids(run.points.vectors[words] @ centroids.T, half_norms, len(centroids))
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(len(centroids), dtype=np.int32), order.shape), axis=1)
    return ranks


def _compare(run: _Run, candidates: Candidates, nearest: Int32Array, clusters: int, progress: Progress) -> None:
    """Compare every word with its own cluster, then with the clusters of its other probes."""
    homes = _members(nearest[:, 0], clusters)
    side = run.side()
    tiles: list[tuple[Int32Array, Int32Array, bool]] = []
    for cluster in range(clusters):
        members = homes.indices[homes.indptr[cluster] : homes.indptr[cluster + 1]]
        tiles += [(a, b, False) for a in _pieces(members, side) for b in _pieces(members, side)]
    # Nearer clusters first: what they bring keeps most of the later ones out.
    for probe in range(1, nearest.shape[1]):
        visitors = _members(nearest[:, probe], clusters)
        for cluster in range(clusters):
            members = homes.indices[homes.indptr[cluster] : homes.indptr[cluster + 1]]
            guests = visitors.indices[visitors.indptr[cluster] : visitors.indptr[cluster + 1]]
            tiles += [(a, b, True) for a in _pieces(guests, side) for b in _pieces(members, side)]
    _run_gathered(run, candidates, tiles, progress)


def _compare_with_all(run: _Run, candidates: Candidates, words: Int32Array) -> None:
    everything = np.arange(run.n, dtype=np.int32)
    side = run.side()
    tiles = [(a, b, False) for a in _pieces(words, side) for b in _pieces(everything, side)]
    _run_gathered(run, candidates, tiles, lambda done, total: None)


def _pieces(ids: Int32Array, side: int) -> list[Int32Array]:
    return [ids[start : start + side].astype(np.int32, copy=False) for start in range(0, len(ids), side)]


def _run_gathered(
    run: _Run,
    candidates: Candidates,
    tiles: Sequence[tuple[Int32Array, Int32Array, bool]],
    progress: Progress,
) -> None:
    """Multiply and select tiles of words given by ids; the same pair may come in two tiles."""
    local = threading.local()
    side, vectors = run.side(), run.points.vectors

    def work(tile: tuple[Int32Array, Int32Array, bool]) -> float:
        rows, columns, mirror = tile
        if not hasattr(local, "products"):
            local.products = np.empty(side * side, np.float32)
        products = local.products[: len(rows) * len(columns)].reshape(len(rows), len(columns))
        np.matmul(vectors[rows], vectors[columns].T, out=products)
        return native.select_tile(products, rows, columns, mirror, True, run.points.native, candidates)

    run_jobs(tiles, work, run.threads, progress)


def true_neighbours(points: Points, words: Int32Array, r: int, *, threads: int, memory: int) -> Int32Array:
    """The exact own neighbours of some words (words x r)."""
    run = _Run(points, threads, memory)
    candidates = Candidates(run.n, r)
    _compare_with_all(run, candidates, words)
    return native.rank_candidates(points.native, candidates, words, threads)[0]


def _sample_words(n: int, count: int, rng: np.random.Generator) -> Int32Array:
    return np.sort(rng.choice(n, min(n, count), replace=False)).astype(np.int32)


def measured_recall(
    points: Points, own: Int32Array, rng: np.random.Generator, *, threads: int, memory: int
) -> tuple[float, int]:
    """The share of true neighbours in the lists of a sample of words, and the size of the sample."""
    words = _sample_words(len(own), RECALL_WORDS, rng)
    true = true_neighbours(points, words, own.shape[1], threads=threads, memory=memory)
    found = (true[:, :, None] == own[words][:, None, :]).any(axis=2)
    return float(found.mean()), len(words)


def with_sampled_total(
    matrix: Float32Array, lists: OwnLists, rng: np.random.Generator, threads: int
) -> tuple[OwnLists, int, float]:
    """The lists with the total that the mean of a uniform sample of unrelated ordered pairs gives.

    Returns also the size of the sample and the standard error of its mean, which is c_max.
    """
    n, r = lists.own.shape
    rows = rng.integers(n, size=SAMPLE_PAIRS, dtype=np.int32)
    columns = rng.integers(n - 1, size=SAMPLE_PAIRS, dtype=np.int32)
    columns += columns >= rows
    related = np.zeros(SAMPLE_PAIRS, bool)
    for place in range(r):
        related |= lists.own[rows, place] == columns
    rows, columns = rows[~related], columns[~related]
    distances = native.pair_distances(matrix, matrix, rows, columns, threads)
    total = float(distances.mean()) * n * (n - 1 - r) + float(lists.rank_sums.sum())
    error = float(distances.std(ddof=1)) / len(distances) ** 0.5
    return OwnLists(lists.own, lists.distances, lists.rank_sums, total), len(distances), error
