"""Which way related words are found, and the record of how it was done."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wordferry.base.arrays import Float32Array
from wordferry.base.checks import whole_number
from wordferry.base.runtime import (
    Progress,
    ShowProgress,
    device_name,
    logger,
    no_progress,
    one_blas_thread,
    progress_for,
    thread_count,
)
from wordferry.device.launch import available, runtime
from wordferry.device.neighbours import applies, nearest_words
from wordferry.errors import InputError
from wordferry.words.related.clusters import (
    ClusterOptions,
    build_clusters,
    cluster_count,
    measured_recall,
    with_sampled_total,
)
from wordferry.words.related.exact import OwnLists, build_exact, in_range, scaled_points

METHODS = ("auto", "exact", "clusters")

EXACT_LIMIT = 2e12
"""``auto`` is exact up to this many multiplications (about ten seconds of two cores)."""
DEVICE_LIMIT = 1e15
"""Multiplications up to which ``auto`` is exact on a GPU."""
_SELECTION = 60  # looking at one inner product costs about as much as this many of its multiplications
_USUAL_PROBES = 10


@dataclass(frozen=True)
class RelatedRecord:
    """How a graph was made: all that is needed to make it again, and how far it can be trusted."""

    r: int
    method: str
    """``exact`` or ``clusters``."""
    reason: str
    """Why this method."""
    c_max_from: str
    """``all pairs``, ``sample``, or ``none`` when every pair is related."""
    c_max_sample: int | None = None
    """Unrelated pairs in the sample."""
    c_max_standard_error: float | None = None
    recall: float | None = None
    """Share of the true own neighbours that were found, measured on ``recall_words`` words; None when exact."""
    recall_words: int | None = None
    clusters: int | None = None
    iterations: int | None = None
    probes: int | None = None
    """Clusters searched for each word."""
    seed: int | None = None


@dataclass(frozen=True)
class Work:
    """What a call brings along that does not change the answer."""

    memory: int
    threads: int
    progress: Progress
    on_device: bool = False
    """Whether exact lists are found on a GPU."""

    @classmethod
    def checked(cls, memory: int, threads: int | None, progress: ShowProgress, device: str | None = None) -> Work:
        """From what a caller passed."""
        tell = progress_for(progress, "relating words") or no_progress
        name = device_name(device)
        if name == "cuda":
            runtime()
        on_device = name == "cuda" or (name == "auto" and available())
        return cls(whole_number(memory, "memory", of="bytes"), thread_count(threads), tell, on_device)


def choose_method(
    n: int, dimensions: int, r: int, options: ClusterOptions, limit: float = EXACT_LIMIT
) -> tuple[str, str]:
    """``exact`` or ``clusters`` by the number of multiplications each needs, and the reason in words; up to ``limit``
    of them exact is preferred."""
    if r >= n - 1:
        return "exact", "every pair is related"
    exact = n * n / 2 * (dimensions + _SELECTION)
    clusters = cluster_count(n, options.iterations)
    probes = min(options.probes or _USUAL_PROBES, clusters)
    steps = n * clusters * dimensions * (options.iterations + 1)
    clustered = steps + n * n * probes / clusters * (dimensions + _SELECTION)
    cost = f"exact needs about {exact:.1e} operations, clusters {clustered:.1e}"
    if exact <= limit:
        return "exact", f"{cost}; up to {limit:.0e} exact is preferred"
    if clustered > exact / 2:
        return "exact", f"{cost}; clusters would not save half"
    return "clusters", cost


def checked_options(iterations: int, probes: int | None, seed: int) -> ClusterOptions:
    """The options of k-means, checked."""
    return ClusterOptions(
        whole_number(iterations, "iterations"),
        None if probes is None else whole_number(probes, "probes"),
        whole_number(seed, "seed", 0),
    )


def build_lists(
    matrix: Float32Array, r: int, method: str, options: ClusterOptions, work: Work
) -> tuple[OwnLists, RelatedRecord]:
    """Own lists of all words by the method asked for, and the record of it."""
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    n, dimensions = matrix.shape
    reason = "asked for"
    if method == "auto" or (method == "clusters" and r >= n - 1):
        limit = DEVICE_LIMIT if work.on_device else EXACT_LIMIT
        method, reason = choose_method(n, dimensions, r, options, limit)
    logger.debug("related words of %d words, r=%d: %s (%s)", n, r, method, reason)
    with one_blas_thread():
        if method == "exact" and work.on_device and applies(n, r) and in_range(_largest_square(matrix)):
            found = nearest_words(matrix, r, work.memory, work.progress)
            lists = OwnLists(found.own, found.distances, found.rank_sums, found.total)
            return lists, RelatedRecord(r, "exact", reason, "all pairs")
        if method == "exact":
            lists = build_exact(matrix, r, memory=work.memory, threads=work.threads, progress=work.progress)
            return lists, RelatedRecord(r, "exact", reason, "none" if r >= n - 1 else "all pairs")
        result = build_clusters(matrix, r, options, memory=work.memory, threads=work.threads, progress=work.progress)
    logger.debug("recall %.3f with %d probes", result.recall, result.probes)
    record = RelatedRecord(
        r,
        "clusters",
        reason,
        "sample",
        c_max_sample=result.sample_pairs,
        c_max_standard_error=result.standard_error,
        recall=result.recall,
        recall_words=result.recall_words,
        clusters=result.clusters,
        iterations=options.iterations,
        probes=result.probes,
        seed=options.seed,
    )
    return result.lists, record


def _largest_square(matrix: Float32Array) -> float:
    return float(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64, optimize=False).max(initial=0.0))


def extend_lists(
    matrix: Float32Array, start: OwnLists, record: RelatedRecord, work: Work
) -> tuple[OwnLists, RelatedRecord]:
    """Lists of the old words (the first rows) and new ones; only pairs with a new word are looked at.

    Exact lists stay exact. Lists found by clusters stay as good as they were, and are measured again.
    """
    r = record.r
    with one_blas_thread():
        lists = build_exact(matrix, r, memory=work.memory, threads=work.threads, progress=work.progress, start=start)
        if record.method == "exact":
            return lists, replace(record, c_max_from="none" if r >= len(matrix) - 1 else "all pairs")
        rng = np.random.default_rng(record.seed)
        points, _ = scaled_points(matrix)
        recall, words = measured_recall(points, lists.own, rng, threads=work.threads, memory=work.memory)
        lists, pairs, error = with_sampled_total(matrix, lists, rng, work.threads)
    changed = replace(record, recall=recall, recall_words=words, c_max_sample=pairs, c_max_standard_error=error)
    return lists, changed


def restricted_record(record: RelatedRecord, r: int, n: int) -> RelatedRecord:
    """The record of the same lists cut to a smaller r."""
    error = record.c_max_standard_error
    if error is not None:
        error *= (n - 1 - record.r) / (n - 1 - r)
    source = record.c_max_from
    if record.r >= n - 1:
        source = "none" if r >= n - 1 else "all pairs"
    return replace(record, r=r, c_max_standard_error=error, c_max_from=source)
