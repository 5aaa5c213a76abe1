"""Sinkhorn distances: POT's values, the exact limit, and the answers of every way to ask."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from tests.transport.helpers import brute_force, random_counts, random_embeddings
from wordferry import Measure, Searcher, find_distance, pairwise, top_k
from wordferry.errors import InputError
from wordferry.index import Index
from wordferry.kernels import reference
from wordferry.kernels.passes import Kind, Rule, soft_plan
from wordferry.words.related.typical import typical_distance

EMBEDDINGS = random_embeddings(60, 8, seed=1)
X, Y = random_counts(9, 60, 12, seed=2), random_counts(23, 60, 14, seed=3)
TIGHT = "sinkhorn(tolerance=1e-12, rounds=100000)"


def rule(regularization: float, tolerance: float = 1e-13, rounds: int = 100_000) -> Rule:
    return Rule(Kind.wmd, 0, False, regularization, tolerance, rounds)


def problem(seed: int, m: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    costs = np.linalg.norm(rng.normal(size=(m, 1, 5)) - rng.normal(size=(1, n, 5)), axis=2).astype(np.float32)
    return rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n)), costs


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 20), st.sampled_from([2.0, 0.5, 0.1]))
def test_plans_are_those_of_pot(seed: int, m: int, n: int, regularization: float) -> None:
    ot = pytest.importorskip("ot", reason="POT is a development dependency")
    supply, demand, costs = problem(seed, m, n)
    options = {"method": "sinkhorn_log", "stopThr": 1e-11, "numItermax": 100_000, "warn": False}
    expected = ot.sinkhorn(supply, demand, costs.astype(np.float64), regularization, **options)
    found = soft_plan(supply, demand, costs, rule(regularization))
    np.testing.assert_allclose(found.plan, expected, atol=1e-6)
    assert found.cost == pytest.approx(float((expected * costs).sum()), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 20),
    st.integers(1, 20),
    st.sampled_from([1.0, 0.05, 0.001, 1e-5]),
    st.sampled_from([1, 10, 1000]),
)
def test_a_plan_has_its_masses_and_lies_above_its_bound(seed: int, m: int, n: int, soft: float, rounds: int) -> None:
    """However small the regularisation is and however early the rounds end."""
    supply, demand, costs = problem(seed, m, n)
    found = soft_plan(supply, demand, costs, rule(soft, 1e-9, rounds))
    exact = wordferry.solve(supply, demand, costs.astype(np.float64)).cost
    np.testing.assert_allclose(found.plan.sum(axis=1), supply, atol=1e-12)
    np.testing.assert_allclose(found.plan.sum(axis=0), demand, atol=1e-12)
    assert (found.plan >= 0).all()
    assert found.lower_bound <= exact + 1e-9 <= found.cost + 2e-9
    assert found.rounds <= rounds
    assert found.cost == pytest.approx(float((found.plan * costs).sum()), abs=1e-9)


@pytest.mark.parametrize("overlap", ["residual", "keep"])
def test_documents_are_compared_as_the_reference_does(overlap: str) -> None:
    values = pairwise(X[:3], Y[:5], TIGHT, overlap=overlap, embeddings=EMBEDDINGS)
    cost = reference.euclidean_cost(EMBEDDINGS.matrix)
    bags = [
        [dict(enumerate(row.toarray()[0] / row.sum())) for row in (side[i : i + 1] for i in range(5))]
        for side in (X, Y)
    ]
    x, y = ([{word: mass for word, mass in bag.items() if mass} for bag in side] for side in bags)
    truth = [[reference.sinkhorn(a, b, cost, overlap) for b in y] for a in x[:3]]
    np.testing.assert_allclose(values, truth, atol=2e-6)


@pytest.mark.parametrize("overlap", ["residual", "keep"])
def test_the_limit_is_wmd(overlap: str) -> None:
    exact = pairwise(X, Y, "wmd", embeddings=EMBEDDINGS)
    gaps = []
    for regularization in (0.3, 0.03, 0.003, 0.0003):
        name = f"sinkhorn(regularization={regularization}, tolerance=1e-9, rounds=20000)"
        values = pairwise(X, Y, name, overlap=overlap, embeddings=EMBEDDINGS)
        assert (values >= exact - 1e-6).all()
        gaps.append(float((values - exact).max()))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-3


@pytest.mark.parametrize("cost", ["euclidean", "cosine"])
@pytest.mark.parametrize("overlap", ["residual", "keep"])
def test_documents_are_compared_as_pot_compares_their_masses(cost: str, overlap: str) -> None:
    ot = pytest.importorskip("ot", reason="POT is a development dependency")
    record = find_distance(TIGHT, cost=cost)
    values = pairwise(X, Y, record, overlap=overlap, embeddings=EMBEDDINGS)
    metric = {"euclidean": "euclidean", "cosine": "sqeuclidean"}[cost]
    table = ot.dist(EMBEDDINGS.matrix.astype(np.float64), metric=metric) / (1 if cost == "euclidean" else 2)
    for i in range(3):
        for j in range(4):
            x, y = (row.toarray()[0] / row.sum() for row in (X[i : i + 1], Y[j : j + 1]))
            common = np.minimum(x, y) if overlap == "residual" else np.zeros_like(x)
            x, y = x - common, y - common
            a, b = np.flatnonzero(x > 1e-12), np.flatnonzero(y > 1e-12)
            if not len(a):
                assert values[i, j] == 0
                continue
            moved, costs = x.sum(), table[np.ix_(a, b)]
            plan = ot.sinkhorn(
                x[a] / moved, y[b] / moved, costs, 0.05, method="sinkhorn_log", stopThr=1e-10, numItermax=50_000
            )
            assert values[i, j] == pytest.approx(moved * float((plan * costs).sum()), abs=2e-6)


@pytest.mark.parametrize("overlap", ["residual", "keep"])
def test_words_without_a_vector_move_at_c_max_and_what_is_common_stays(overlap: str) -> None:
    texts = [["w1", "w2", "u1", "u1", "u2"], ["w2", "w5", "u1", "u3"], ["u4", "w7"]]
    name = "sinkhorn(regularization=0.3, tolerance=1e-12, rounds=20000)"
    values = pairwise(texts, None, name, overlap=overlap, embeddings=EMBEDDINGS)
    words = [*EMBEDDINGS.vocabulary, "u1", "u2", "u3", "u4"]
    far, true = typical_distance(EMBEDDINGS), reference.euclidean_cost(EMBEDDINGS.matrix)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        a, b = ({words.index(word): text.count(word) / len(text) for word in text} for text in (texts[i], texts[j]))
        common = {word: min(mass, b.get(word, 0.0)) for word, mass in a.items() if word >= 60}
        a, b = ({w: m - common.get(w, 0.0) for w, m in bag.items() if m > common.get(w, 0.0)} for bag in (a, b))
        cost = lambda p, q: 0.0 if p == q else far if max(p, q) >= 60 else true(p, q)  # noqa: E731
        assert values[i, j] == pytest.approx(reference.sinkhorn(a, b, cost, overlap, 0.3), abs=2e-6)


def test_searches_are_the_row_of_all_distances() -> None:
    values = pairwise(X, Y, "sinkhorn", embeddings=EMBEDDINGS)
    found = top_k(X, Y, 4, "sinkhorn", embeddings=EMBEDDINGS)
    rows, near = brute_force(values, 4)
    np.testing.assert_array_equal(found.indices, rows)
    np.testing.assert_array_equal(found.distances, near)
    assert found.solved < values.size
    again = Searcher(Y, "sinkhorn", embeddings=EMBEDDINGS).top_k(X, 4)
    np.testing.assert_array_equal(again.indices, rows)
    np.testing.assert_array_equal(pairwise(Y, X, "sinkhorn", embeddings=EMBEDDINGS), values.T)
    np.testing.assert_array_equal(np.diag(pairwise(Y, None, "sinkhorn", embeddings=EMBEDDINGS)), 0)
    np.testing.assert_array_equal(
        pairwise(Y, None, "sinkhorn", embeddings=EMBEDDINGS), pairwise(Y, Y.copy(), "sinkhorn", embeddings=EMBEDDINGS)
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("the cat sleeps on zzyx in the warm sun", "a dog qwfp rests zzyx by the sea"),
        ("Obama speaks to the media in Illinois", "The president greets the press in Chicago"),  # the bound is tight
    ],
)
def test_explanations_show_the_soft_plan_and_how_well_it_is_known(a: str, b: str) -> None:
    told = wordferry.explain(a, b, "sinkhorn")
    assert told.distance == pytest.approx(wordferry.distance(a, b, "sinkhorn"), abs=1e-6)
    assert sum(row.cost for row in told.rows) == pytest.approx(told.distance, abs=1e-6)
    assert len([row for row in told.rows if row.source == told.rows[0].source]) > 1
    wmd = wordferry.distance(a, b, "wmd")
    assert told.facts["lower_bound"] <= wmd
    assert wmd <= told.distance + 1e-6
    assert told.facts["marginal_error"] <= 1e-6 or told.facts["rounds"] == 1000
    assert told.facts["rounds"] >= 1
    assert "lower bound" in str(told)
    assert json.loads(told.to_json())["facts"] == told.facts
    assert wordferry.explain(a, a, "sinkhorn").distance == 0


def test_an_index_answers_by_it(tmp_path) -> None:
    texts = ["the cat sleeps", "stocks fell sharply", "a dog barks loudly", "the bank raised rates"]
    with Index.create(tmp_path / "index", weights="counts") as index:
        index.add(texts)
        hits = index.similar("my cat rests", 4, distance="sinkhorn(regularization=0.1)")
        told = [hit.explain().distance for hit in hits]
    row = pairwise(["my cat rests"], texts, "sinkhorn(regularization=0.1)")[0]
    np.testing.assert_allclose([hit.distance for hit in hits], np.sort(row), atol=1e-6)
    np.testing.assert_allclose(told, np.sort(row), atol=1e-6)


def test_parameters() -> None:
    record = find_distance("sinkhorn", regularization=0.01, rounds=50)
    assert record.name == "sinkhorn(regularization=0.01, rounds=50)"
    assert find_distance(record.name) == record
    for name, message in (
        ("sinkhorn(regularization=0)", "regularization must be"),
        ("sinkhorn(tolerance=-1)", "tolerance must be"),
        ("sinkhorn(rounds=0)", "rounds must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            find_distance(name)


def test_weights_and_blends_take_it() -> None:
    parts = [wordferry.distance("the cat", "a dog barks", name) for name in ("sinkhorn", "cosine")]
    both = wordferry.distance("the cat", "a dog barks", "sinkhorn + 0.5*cosine")
    assert both == pytest.approx(parts[0] + 0.5 * parts[1], abs=1e-6)
    values = Measure("sinkhorn", weights="idf").pairwise(["the cat sleeps", "a dog barks"])
    assert values[0, 1] > 0


def test_costs_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="costs must be finite"):
        soft_plan(np.ones(1), np.ones(1), np.full((1, 1), np.inf, np.float32), rule(0.1))
