"""Losses against their definition, and gradients against finite differences, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from wordferry.compare.transport import solve
from wordferry.learn.metric import LabelledDocuments, Metric, TransportLoss, centroid_loss, nca

STEP = 1e-6


@pytest.fixture
def documents() -> LabelledDocuments:
    rng = np.random.default_rng(0)
    counts = (rng.random((12, 20)) < 0.3) * rng.integers(1, 4, (12, 20))
    return LabelledDocuments(sp.csr_array(counts.astype(float)), rng.standard_normal((20, 6)), rng.integers(0, 3, 12))


@pytest.fixture
def metric() -> Metric:
    rng = np.random.default_rng(1)
    return Metric(rng.standard_normal((4, 6)), 0.3 * rng.standard_normal(20))


ANCHORS = np.array([0, 3, 5])
OTHERS = [np.setdiff1d(np.arange(12), [anchor]) for anchor in ANCHORS]


def differences(loss, metric: Metric) -> Metric:
    found = Metric(np.zeros_like(metric.map), np.zeros_like(metric.logs))
    for name, values in (("map", metric.map), ("logs", metric.logs)):
        for place in np.ndindex(values.shape):
            ends = []
            for sign in (1, -1):
                moved = {"map": metric.map.copy(), "logs": metric.logs.copy()}
                moved[name][place] += sign * STEP
                ends.append(loss(Metric(**moved)))
            getattr(found, name)[place] = (ends[0] - ends[1]) / (2 * STEP)
    return found


def transport_loss(metric: Metric, documents: LabelledDocuments) -> tuple[float, Metric]:
    return TransportLoss(metric, documents, np.arange(12)).gradient(ANCHORS, OTHERS)


@pytest.mark.parametrize("loss", [lambda m, d: centroid_loss(m, d, ANCHORS), transport_loss], ids=["wcd", "wmd"])
def test_gradients_are_those_of_finite_differences(loss, documents, metric):
    _, slope = loss(metric, documents)
    expected = differences(lambda moved: loss(moved, documents)[0], metric)
    np.testing.assert_allclose(slope.map, expected.map, atol=1e-7)
    np.testing.assert_allclose(slope.logs, expected.logs, atol=1e-7)
    assert min(np.abs(expected.map).max(), np.abs(expected.logs).max()) > 1e-2


def test_transport_costs_are_those_of_the_solver(documents, metric):
    masses, vectors = documents.masses(metric).toarray(), documents.vectors @ metric.map.T
    costs = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
    found = TransportLoss(metric, documents, np.arange(12)).costs(2, np.array([0, 7]))
    expected = [solve(masses[2], masses[other], costs).cost for other in (0, 7)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_loss_is_minus_log_of_the_probability_of_the_own_class():
    costs, same = np.array([[1.0, 2.0, 3.0, np.inf]]), np.array([[True, False, True, False]])
    chances = np.exp(-costs[0])
    losses, slopes = nca(costs, same)
    assert losses[0] == pytest.approx(-np.log((chances[0] + chances[2]) / chances.sum()))
    assert slopes[0, 3] == 0
    assert slopes.sum() == pytest.approx(0)


def test_costs_that_are_far_apart_do_not_overflow():
    losses, slopes = nca(np.array([[1e5, 0.0]]), np.array([[True, False]]))
    assert losses[0] == pytest.approx(1e5)
    assert np.isfinite(slopes).all()


def test_a_document_does_not_choose_itself(documents, metric):
    """A copy under another number is a neighbour; the document itself is not, whatever its rank."""
    twice = LabelledDocuments(
        sp.csr_array(sp.vstack([documents.counts, documents.counts[[0]]])),
        documents.vectors,
        np.append(documents.classes, documents.classes[0]),
    )
    alone, _ = centroid_loss(metric.scaled(50.0), documents, np.array([0]))
    copied, _ = centroid_loss(metric.scaled(50.0), twice, np.array([0]))
    assert copied == pytest.approx(0, abs=1e-9)
    assert alone > 1
