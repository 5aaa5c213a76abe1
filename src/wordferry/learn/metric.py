"""A learned metric of documents: a linear map of word vectors and a weight per word, with its losses and gradients.

The loss is that of neighbourhood components analysis (NCA): a document a chooses another document b with probability
proportional to exp(-D(a, b)), and the loss is -log of the probability that the chosen one has a's class.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, FloatArray, Int64Array
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import check_cancelled
from wordferry.compare.bags import SCALE, scaled_masses
from wordferry.kernels.passes import transport_one

_BLOCK = 1 << 16
"""Words of documents whose vectors are gathered at a time."""


@dataclass(frozen=True, eq=False)
class Metric:
    """The parameters that are learned, or a gradient with respect to them."""

    map: FloatArray
    """(learned dimensions, dimensions): the linear map A of word vectors."""
    logs: FloatArray
    """Logarithm of the weight of each word."""

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.map, self.logs))

    def scaled(self, factor: float) -> Metric:
        """A copy whose map is multiplied by a factor."""
        return replace(self, map=(self.map * factor).astype(self.map.dtype))


@dataclass(frozen=True, eq=False)
class LabelledDocuments:
    """Labelled training documents over the words that have a vector."""

    counts: sp.csr_array
    """(documents, words) counts; every row has a word."""
    vectors: FloatArray
    """(words, dimensions)"""
    classes: Int64Array
    """The class number of each document."""

    def masses(self, metric: Metric, rows: Int64Array | None = None) -> sp.csr_array:
        """Weighted counts of all or some documents, each row scaled to sum 1."""
        matrix = self.counts if rows is None else self.counts[rows]
        data = matrix.data * np.exp(metric.logs[matrix.indices])
        lengths = np.diff(matrix.indptr)
        sums = np.add.reduceat(data, matrix.indptr[:-1])
        shares = (data / np.repeat(sums, lengths)).astype(metric.logs.dtype, copy=False)
        return sp.csr_array((shares, matrix.indices, matrix.indptr), shape=matrix.shape)

    def centroids(self, metric: Metric) -> FloatArray:
        """Weighted centroid of each document in the learned space."""
        result: FloatArray = self.masses(metric) @ (self.vectors @ metric.map.T)
        return result


def nca(costs: FloatArray, same: BoolArray) -> tuple[FloatArray, FloatArray]:
    """NCA loss of each row of costs, and its gradient with respect to them.

    ``same`` marks documents of the row's own class; each row needs one. A document that must not be chosen, such as
    the row's own, has an infinite cost.
    """
    chosen, everyone = np.where(same, -costs, -np.inf), -costs
    top = everyone.max(axis=1, keepdims=True)
    own = chosen.max(axis=1, keepdims=True)
    p, q = np.exp(everyone - top), np.exp(chosen - own)
    p_sum, q_sum = p.sum(axis=1, keepdims=True), q.sum(axis=1, keepdims=True)
    losses = (top + np.log(p_sum) - own - np.log(q_sum)).ravel()
    return losses, q / q_sum - p / p_sum


def centroid_loss(metric: Metric, documents: LabelledDocuments, anchors: Int64Array) -> tuple[float, Metric]:
    """Mean NCA loss of some documents over squared distances of centroids to all others, and its gradient."""
    masses = documents.masses(metric)
    mapped = documents.vectors @ metric.map.T
    centroids = masses @ mapped
    ours = centroids[anchors]
    squares = np.einsum("ij,ij->i", centroids, centroids)
    costs = squares[anchors][:, None] + squares - 2 * (ours @ centroids.T)
    costs[np.arange(len(anchors)), anchors] = np.inf
    same = documents.classes[anchors][:, None] == documents.classes
    same[np.arange(len(anchors)), anchors] = False
    losses, slopes = nca(costs, same)
    slopes /= len(anchors)
    slope = 2 * (slopes.sum(axis=0)[:, None] * centroids - slopes.T @ ours)
    np.add.at(slope, anchors, 2 * (slopes.sum(axis=1)[:, None] * ours - slopes @ centroids))
    spread = masses.T @ slope
    rows = np.repeat(np.arange(masses.shape[0]), np.diff(masses.indptr))
    pulls = -np.einsum("ij,ij->i", slope, centroids)[rows]
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        pulls[part] += np.einsum("ij,ij->i", slope[rows[part]], mapped[masses.indices[part]])
    logs = np.bincount(masses.indices, weights=masses.data * pulls, minlength=len(metric.logs))
    return float(losses.mean()), Metric(spread.T @ documents.vectors, logs.astype(metric.logs.dtype))


@dataclass(frozen=True, eq=False)
class _Pull:
    """Contribution of one anchor to the gradient."""

    loss: float
    arcs: list[tuple[Any, Any, Any]]
    """Words that move onto words, and the weight of their squared distance in the gradient."""
    logs: list[tuple[Any, Any]]
    """Words, and slopes of the loss in the logarithms of their weights."""


class TransportLoss:
    """NCA loss over transport costs between documents, for one value of the parameters.

    The cost of moving a word onto another is the distance of their mapped vectors: what is trained is the Word Mover's
    Distance that is used afterwards. (Huang et al. train with squared distances.)
    """

    def __init__(self, metric: Metric, documents: LabelledDocuments, rows: Int64Array) -> None:
        self.metric, self.documents = metric, documents
        self._rows = np.unique(rows)
        self._place = np.full(documents.counts.shape[0], -1, np.int64)
        self._place[self._rows] = np.arange(len(self._rows))
        self._masses = documents.masses(metric, self._rows)
        self._whole = scaled_masses(self._masses.indptr, self._masses.data)
        self._used = np.unique(self._masses.indices)
        self._mapped = np.zeros((len(metric.logs), len(metric.map)))
        self._mapped[self._used] = documents.vectors[self._used].astype(np.float64) @ metric.map.T.astype(np.float64)
        self._squares = np.einsum("ij,ij->i", self._mapped, self._mapped)

    def costs(self, anchor: int, others: Int64Array) -> FloatArray:
        """Transport costs of one document to some others."""
        return np.array([found.total for found, *_ in self._solved(anchor, others)]) / SCALE

    def _span(self, document: int) -> slice:
        place = self._place[document]
        return slice(int(self._masses.indptr[place]), int(self._masses.indptr[place + 1]))

    def _solved(self, anchor: int, others: Int64Array) -> list[tuple[Any, Any, slice]]:
        """For each other document the solution of the transport from it to the anchor, its costs, and its entries."""
        mine, spans = self._span(anchor), [self._span(other) for other in others]
        words = self._masses.indices
        ours = words[mine]
        theirs = np.concatenate([words[span] for span in spans])
        costs = self._squares[theirs][:, None] + self._squares[ours] - 2 * (self._mapped[theirs] @ self._mapped[ours].T)
        np.maximum(costs, 0, out=costs)
        costs[theirs[:, None] == ours] = 0
        np.sqrt(costs, out=costs)
        result, start = [], 0
        for span in spans:
            part = costs[start : start + span.stop - span.start]
            start += len(part)
            result.append((transport_one(self._whole[span], self._whole[mine], part), part, span))
        return result

    def _pull(self, anchor: int, others: Int64Array) -> _Pull:
        solved = self._solved(anchor, others)
        totals = np.array([found.total for found, *_ in solved]) / SCALE
        classes = self.documents.classes
        losses, slopes = nca(totals[None], (classes[others] == classes[anchor])[None])
        mine, words, shares = self._span(anchor), self._masses.indices, self._masses.data
        ours = words[mine]
        arcs, logs, own = [], [], np.zeros(len(ours))
        for (found, costs, span), slope in zip(solved, slopes[0], strict=True):
            if slope == 0:
                continue
            # The slope of |z| is z / |z|, half of that of the square over |z|; a word onto itself does not pull.
            paid = costs[found.sources, found.sinks]
            weights = np.divide(found.masses * (slope / SCALE), 2 * paid, out=np.zeros(len(paid)), where=paid > 0)
            theirs, masses = words[span], shares[span]
            arcs.append((theirs[found.sources], ours[found.sinks], weights))
            # Duals are the slopes in the masses, which are shares: their mean falls out.
            logs.append((theirs, slope * masses * (found.source_duals - masses @ found.source_duals)))
            own += slope * found.sink_duals
        logs.append((ours, shares[mine] * (own - shares[mine] @ own)))
        return _Pull(float(losses[0]), arcs, logs)

    def gradient(
        self, anchors: Int64Array, others: list[Int64Array], pool: ThreadPoolExecutor | None = None
    ) -> tuple[float, Metric]:
        """Mean NCA loss of anchors over their own candidates, and its gradient."""
        check_cancelled()
        run = map if pool is None else pool.map
        pulls = list(run(self._pull, anchors.tolist(), others))
        none = np.zeros(0, np.int64)
        arcs = [arc for pull in pulls for arc in pull.arcs] or [(none, none, np.zeros(0))]
        sources, sinks, weights = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
        words, logs = (
            np.concatenate(parts) for parts in zip(*(one for pull in pulls for one in pull.logs), strict=True)
        )
        kind, used, size = self.metric.map.dtype, self._used, len(self.metric.logs)
        # The sum of w |z_i - z_j|^2 over arcs is z^T L z for the Laplacian L of the graph of words; its slope is 2 L z.
        graph = sp.csr_array((weights, (sources, sinks)), shape=(size, size))
        graph = graph + graph.T
        slope = 2 * (np.asarray(graph.sum(axis=1)).ravel()[:, None] * self._mapped - graph @ self._mapped)
        mapped = slope[used].T.astype(kind) @ self.documents.vectors[used]
        pulled = np.bincount(words, weights=logs, minlength=size)
        found = Metric(mapped / len(anchors), (pulled / len(anchors)).astype(kind))
        return float(np.mean([pull.loss for pull in pulls])), found
