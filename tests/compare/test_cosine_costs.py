"""``cost="cosine"``: distances that move words at 1 less the cosine of their angle, and Word Rotator's Distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordferry
from tests.relaxed.cases import Corpus, masses, random_corpus
from wordferry import Embeddings, Measure, RelatedWords, Searcher, find_distance, pairwise, top_k
from wordferry.errors import InputError
from wordferry.index import Index
from wordferry.kernels import reference

MOVERS = ("wcd", "rwmd", "rel-rwmd", "act", "wmd", "rel-wmd")


@dataclass(frozen=True)
class Cosines(Corpus):
    """The corpus with cosine costs in its references."""

    def cost(self, distance: str) -> reference.Cost:
        if not distance.startswith("rel-"):
            return reference.cosine_cost(self.embeddings.matrix)
        euclidean, c_max = super().cost(distance), self.related.c_max
        return lambda i, j: min(euclidean(i, j), c_max) ** 2 / 2


@pytest.fixture(scope="module")
def corpus() -> Cosines:
    found = random_corpus(seed=5, documents=14)
    return Cosines(found.embeddings, found.related, found.first, found.second)


CASES = [
    *(("rwmd", overlap, side) for overlap in ("keep", "omr", "residual") for side in ("both", "left")),
    *(("rel-rwmd", overlap, "both") for overlap in ("keep", "omr", "residual")),
    *((name, overlap, "both") for name in ("wmd", "rel-wmd") for overlap in ("keep", "residual")),
]


@pytest.mark.parametrize(("name", "overlap", "side"), CASES)
def test_every_overlap_is_the_reference_with_cosine_costs(corpus: Cosines, name: str, overlap: str, side: str) -> None:
    found = pairwise(
        corpus.x, corpus.y, find_distance(name, cost="cosine"), overlap=overlap, side=side, **corpus.options
    )
    np.testing.assert_allclose(found, corpus.truth(name, overlap, side), atol=2e-6)


def test_act_and_the_centroid_distance(corpus: Cosines) -> None:
    cost = corpus.cost("act")
    for overlap in ("omr", "residual"):
        found = pairwise(corpus.x, corpus.y, "act(transfers=2, cost=cosine)", overlap=overlap, **corpus.options)
        truth = [[reference.act(masses(a), masses(b), cost, overlap, 2) for b in corpus.second] for a in corpus.first]
        np.testing.assert_allclose(found, truth, atol=2e-6)
    found = pairwise(corpus.x, corpus.y, "wcd(cost=cosine)", **corpus.options)
    np.testing.assert_allclose(found, corpus.truth("wcd") ** 2 / 2, atol=2e-6)


def test_methods_agree(corpus: Cosines) -> None:
    for name in ("rwmd", "rel-rwmd"):
        values = [
            pairwise(corpus.x, corpus.y, f"{name}(cost=cosine)", algorithm=algorithm, **corpus.options)
            for algorithm in ("standard", "linear")
        ]
        np.testing.assert_allclose(*values, atol=1e-6)


def vectors(seed: int, words: int = 12) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(words, 4)) * rng.uniform(0.2, 3.0, size=(words, 1))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 1000),
    st.dictionaries(st.integers(0, 11), st.integers(1, 4), min_size=1, max_size=7),
    st.dictionaries(st.integers(0, 11), st.integers(1, 4), min_size=1, max_size=7),
    st.booleans(),
)
def test_word_rotator_is_its_definition(seed: int, x: dict[int, int], y: dict[int, int], scaled: bool) -> None:
    """Whether the vectors come scaled, with the lengths they had, or as they are."""
    matrix = vectors(seed)
    embeddings = Embeddings([f"w{i}" for i in range(12)], matrix, normalize=scaled)
    a, b = ([f"w{i}" for i, count in bag.items() for _ in range(count)] for bag in (x, y))
    truth = reference.wrd(x, y, matrix)
    assert wordferry.distance(a, b, "wrd", embeddings=embeddings) == pytest.approx(truth, abs=2e-6)
    spelled = wordferry.distance(a, b, "wmd(cost=cosine)", weights="norm", embeddings=embeddings)
    assert spelled == pytest.approx(truth, abs=2e-6)
    told = wordferry.explain(a, b, "wrd", embeddings=embeddings)
    assert told.distance == pytest.approx(truth, abs=2e-6)


def test_one_sided_rwmd_is_maxsim() -> None:
    matrix = vectors(3)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    embeddings = Embeddings([f"w{i}" for i in range(12)], matrix)
    query, document = [0, 3, 7], [1, 2, 3, 9, 11]
    maxsim = (unit[query] @ unit[document].T).max(axis=1).mean()
    a, b = ([f"w{i}" for i in bag] for bag in (query, document))
    found = wordferry.distance(a, b, "rwmd(cost=cosine)", side="left", embeddings=embeddings)
    assert found == pytest.approx(1 - maxsim, abs=1e-6)


def test_common_mass_that_stays_costs_more_by_what_is_no_metric() -> None:
    """Words at 0, 45 and 90 degrees: two short moves are cheaper than a long one past what is common."""
    embeddings = Embeddings(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
    keep, residual = (
        wordferry.distance(["a", "b"], ["b", "c"], "wmd(cost=cosine)", overlap=overlap, embeddings=embeddings)
        for overlap in ("keep", "residual")
    )
    assert keep == pytest.approx(1 - np.sqrt(0.5), abs=1e-6)
    assert residual == pytest.approx(0.5, abs=1e-6)
    assert keep == wordferry.distance(["a", "b"], ["b", "c"], "wmd(cost=cosine)", embeddings=embeddings)


def test_bounds_hold(corpus: Cosines) -> None:
    for name in ("wmd", "rel-wmd"):
        record = find_distance(name, cost="cosine")
        for overlap in record.overlaps:
            values = pairwise(corpus.x, corpus.y, record, overlap=overlap, **corpus.options)
            for bound, mode in record.bounds(overlap):
                mode = mode if bound.overlaps else None
                below = pairwise(corpus.x, corpus.y, bound, overlap=mode, **corpus.options)
                assert (below <= values + 2e-6).all()


@pytest.mark.parametrize("name", [*(f"{name}(cost=cosine)" for name in MOVERS), "wrd"])
def test_searches_are_the_row_of_all_distances(corpus: Cosines, name: str) -> None:
    truth = pairwise(corpus.x, corpus.y, name, **corpus.options)
    found = top_k(corpus.x, corpus.y, 4, name, **corpus.options)
    np.testing.assert_allclose(found.distances, np.sort(truth, axis=1)[:, :4], atol=2e-6)
    searcher = Searcher(corpus.y, name, **corpus.options)
    np.testing.assert_array_equal(searcher.top_k(corpus.x[:3], 4).distances, found.distances[:3])
    assert find_distance(find_distance(name).name) == find_distance(name)


@pytest.mark.parametrize("name", [*(f"{name}(cost=cosine)" for name in MOVERS), "wrd"])
def test_an_index_compares_as_pairwise_does(name: str, tmp_path) -> None:
    texts = ["the cat sleeps", "stocks fell sharply zzyx", "a dog barks loudly", "zzyx zzyx", "the bank raised rates"]
    query = "my cat zzyx sleeps"
    with Index.create(tmp_path / "index") as index:
        index.add(texts)
        hits = index.similar(query, 5, distance=name)
        weights = index.measure(name).weights
        told = [hit.explain().distance for hit in hits]
        related = index.related
    assert weights == ("norm" if name == "wrd" else "idf")
    measure = Measure(name, "omr" if "omr" in find_distance(name).overlaps else None, weights=weights, related=related)
    row = measure.pairwise([query], texts)[0]
    np.testing.assert_allclose([hit.distance for hit in hits], np.sort(row), atol=2e-6)
    np.testing.assert_allclose(told, np.sort(row), atol=2e-6)


@pytest.mark.parametrize("name", [*(f"{name}(cost=cosine)" for name in MOVERS), "wrd"])
def test_explanations_sum_to_the_distance_also_with_words_without_a_vector(name: str) -> None:
    a, b = "the cat sleeps on zzyx and zzyx", "a dog zzyx barks at qwfp"
    told = wordferry.explain(a, b, name)
    value = wordferry.distance(a, b, name)
    assert told.distance == pytest.approx(value, abs=2e-6)
    assert sum(row.cost for row in told.rows) == pytest.approx(value, abs=2e-6)


def test_c_max_is_the_cosine_distance_at_the_mean_distance(corpus: Cosines) -> None:
    problem = Measure("rel-rwmd(cost=cosine)", **corpus.options).problem(corpus.x, corpus.y)
    assert problem.frame.c_max == pytest.approx(corpus.related.c_max**2 / 2)
    unit = Measure("wmd(cost=cosine)").problem(["cat zzyx"], ["dog"]).frame
    assert unit.far == pytest.approx(Measure("wmd").problem(["cat zzyx"], ["dog"]).frame.far ** 2 / 2)


def test_vectors_that_are_not_of_length_1() -> None:
    matrix = vectors(4)
    true = Embeddings([f"w{i}" for i in range(12)], matrix, normalize=False)
    unit = Embeddings([f"w{i}" for i in range(12)], matrix)
    a, b = ["w1", "w2"], ["w3", "w4", "w4"]
    for name in MOVERS:
        value = wordferry.distance(a, b, f"{name}(cost=cosine)", embeddings=true)
        assert value == pytest.approx(wordferry.distance(a, b, f"{name}(cost=cosine)", embeddings=unit), abs=1e-6)
    with pytest.raises(InputError, match="agree only on vectors of length 1"):
        wordferry.distance(a, b, "rwmd + rwmd(cost=cosine)", embeddings=true)
    both = wordferry.distance(a, b, "rwmd + 2*rwmd(cost=cosine)", embeddings=unit)
    parts = [wordferry.distance(a, b, name, embeddings=unit) for name in ("rwmd", "rwmd(cost=cosine)")]
    assert both == pytest.approx(parts[0] + 2 * parts[1], abs=1e-6)
    related = RelatedWords.build(true, 3)
    with pytest.raises(wordferry.errors.VocabularyMismatch, match="other vectors"):
        wordferry.distance(a, b, "rel-rwmd(cost=cosine)", embeddings=true, related=related)


def test_wrong_costs() -> None:
    with pytest.raises(InputError, match="cost must be one of 'euclidean', 'cosine'; got 'manhattan'"):
        find_distance("wmd(cost=manhattan)")
    with pytest.raises(InputError, match="has no parameter 'cost'"):
        find_distance("cosine(cost=cosine)")
    with pytest.raises(InputError, match=r"Use wmd\(cost=cosine\) and pass weights='norm'"):
        find_distance("wrd + cosine")
