"""Related words by clusters: exact where every cluster is searched, measured where not."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

from wordferry import Embeddings, RelatedWords
from wordferry.errors import InputError
from wordferry.words.related.build import choose_method
from wordferry.words.related.clusters import ClusterOptions, cluster_count


def words(n):
    return [f"w{i}" for i in range(n)]


@pytest.fixture(scope="module")
def embeddings():
    """3,000 words around 60 centres."""
    rng = np.random.default_rng(4)
    centres = rng.standard_normal((60, 12))
    matrix = centres[rng.integers(60, size=3000)] + 0.7 * rng.standard_normal((3000, 12))
    return Embeddings(words(3000), matrix)


@pytest.fixture(scope="module")
def exact(embeddings):
    return RelatedWords.build(embeddings, 10, "exact")


def true_recall(related, exact):
    found = [len(set(a) & set(b)) for a, b in zip(related.own.tolist(), exact.own.tolist(), strict=True)]
    return sum(found) / exact.own.size


def test_automatic_probes_reach_the_recall(embeddings, exact):
    related = RelatedWords.build(embeddings, 10, "clusters")
    record = related.record
    assert record.method == "clusters"
    assert record.clusters == cluster_count(3000, 5) == 24
    assert 1 <= record.probes < record.clusters
    assert true_recall(related, exact) >= 0.9
    assert record.recall == pytest.approx(true_recall(related, exact), abs=0.03)
    assert record.recall_words == 500


def test_lists_hold_true_distances_and_r_words(embeddings, exact):
    related = RelatedWords.build(embeddings, 10, "clusters", probes=1)
    assert related.own.shape == (3000, 10)
    assert all(len(set(row)) == 10 and i not in row for i, row in enumerate(related.own.tolist()))
    x = embeddings.matrix.astype(np.float64)
    distances = np.linalg.norm(x[:, None, :] - x[related.own], axis=2)
    np.testing.assert_allclose(related.own_distances, distances, rtol=1e-6)
    assert (np.diff(related.own_distances, axis=1) >= 0).all()
    assert (abs(related.graph - related.graph.T)).max() == 0
    assert true_recall(related, exact) < true_recall(RelatedWords.build(embeddings, 10, "clusters", probes=3), exact)


def test_c_max_is_that_of_all_pairs_not_of_clusters(embeddings, exact):
    related = RelatedWords.build(embeddings, 10, "clusters", probes=1)
    record = related.record
    assert record.c_max_from == "sample"
    assert record.c_max_sample > 500_000
    assert 0 < record.c_max_standard_error < 1e-3
    assert abs(related.c_max - exact.c_max) < 4 * record.c_max_standard_error + 1e-3 * (1 - record.recall)


def test_all_clusters_searched_is_exact(embeddings, exact):
    related = RelatedWords.build(embeddings, 10, "clusters", probes=10_000)
    assert related.record.probes == related.record.clusters
    assert related.record.recall == 1.0
    assert (related.own == exact.own).all()
    assert (related.graph != exact.graph).nnz == 0


def test_same_answer_for_any_threads_and_memory(embeddings):
    first = RelatedWords.build(embeddings, 10, "clusters", probes=2, seed=7, threads=1)
    for options in ({"threads": 2}, {"threads": 5, "memory": 1}):
        other = RelatedWords.build(embeddings, 10, "clusters", probes=2, seed=7, **options)
        assert (other.own == first.own).mean() > 0.999  # centroids may differ in their last bit
        assert other.c_max == pytest.approx(first.c_max, rel=1e-5)
    again = RelatedWords.build(embeddings, 10, "clusters", probes=2, seed=7, threads=1)
    assert (again.own == first.own).all()
    assert again.record == first.record
    assert again.c_max == first.c_max


@pytest.mark.parametrize("r", [5, 30])
def test_clusters_smaller_than_r(r):
    """Twelve separate groups of four words: with one probe a word meets three others, and still gets r neighbours."""
    rng = np.random.default_rng(1)
    matrix = np.repeat(np.eye(12) * 10, 4, axis=0) + rng.standard_normal((48, 12)) * 0.01
    embeddings = Embeddings(words(48), matrix, normalize=False)
    related = RelatedWords.build(embeddings, r, "clusters", probes=1, iterations=1)
    exact = RelatedWords.build(embeddings, r, "exact")
    assert related.own.min() >= 0
    assert related.own.shape == (48, r)
    assert (related.own[:, :3] == exact.own[:, :3]).all()


def test_fewer_different_vectors_than_clusters():
    matrix = np.repeat(np.eye(3), 40, axis=0)
    related = RelatedWords.build(Embeddings(words(120), matrix), 4, "clusters", iterations=1)
    assert related.own_distances.max() == 0.0
    assert related.record.recall is not None


def test_every_pair_related_is_exact():
    related = RelatedWords.build(Embeddings(words(6), np.eye(6)), 9, "clusters")
    assert related.record.method == "exact"
    assert related.record.reason == "every pair is related"
    assert math.isnan(related.c_max)


def test_restrict_keeps_the_estimate(embeddings):
    large = RelatedWords.build(embeddings, 10, "clusters", probes=4)
    small = large.restrict(3)
    assert (small.own == large.own[:, :3]).all()
    rest = large.own_distances[:, 3:].astype(np.float64).sum()
    expected = (large.c_max * 3000 * 2989 + rest) / (3000 * 2996)
    assert small.c_max == pytest.approx(expected, rel=1e-7)
    assert small.record.c_max_standard_error < large.record.c_max_standard_error


def test_extend_measures_anew(embeddings, exact):
    start = RelatedWords.build(embeddings.restrict(np.arange(2000)), 10, "clusters", probes=4)
    grown = start.extend(embeddings)
    assert grown.record.method == "clusters"
    assert (grown.own[2000:] == exact.own[2000:]).all()
    assert grown.record.recall == pytest.approx(true_recall(grown, exact), abs=0.02)
    assert grown.c_max == pytest.approx(exact.c_max, rel=2e-3)


def test_auto_says_which_and_why(embeddings, caplog):
    with caplog.at_level(logging.DEBUG, logger="wordferry"):
        record = RelatedWords.build(embeddings.restrict(np.arange(100)), 3).record
    assert record.method == "exact"
    assert "exact is preferred" in record.reason
    assert record.reason in caplog.text
    options = ClusterOptions(5, None, 0)
    assert choose_method(60_000, 100, 16, options)[0] == "exact"
    method, reason = choose_method(400_000, 300, 16, options)
    assert method == "clusters"
    assert "operations" in reason
    assert choose_method(400_000, 300, 16, ClusterOptions(5, 280, 0))[0] == "exact"


@pytest.mark.parametrize(
    ("name", "value"),
    [("iterations", 0), ("probes", 0), ("probes", 1.5), ("seed", -1), ("seed", "x"), ("memory", 0), ("memory", 2.5)],
)
def test_bad_options(name, value):
    with pytest.raises(InputError, match=f"{name} must be"):
        RelatedWords.build(Embeddings(words(5), np.eye(5)), 1, "clusters", **{name: value})


@pytest.mark.slow
def test_recall_on_200_000_real_words(shared_data):
    with np.load(shared_data / "embeddings" / "glove.6B.100d-341k-f16.npz") as arrays:
        matrix = arrays["vectors"][:200_000]
    embeddings = Embeddings(words(len(matrix)), matrix)
    related = RelatedWords.build(embeddings, 16)
    assert related.record.method == "clusters"
    sample = np.random.default_rng(99).choice(len(matrix), 400, replace=False)
    x = embeddings.matrix
    scores = x[sample] @ x.T
    scores[np.arange(400), sample] = -np.inf
    true = np.argpartition(-scores, 16, axis=1)[:, :16]
    found = [len(set(a) & set(b)) for a, b in zip(true.tolist(), related.own[sample].tolist(), strict=True)]
    assert sum(found) / true.size >= 0.9
    assert related.c_max == pytest.approx(1.37618508, abs=5 * related.record.c_max_standard_error)
