"""Blends: a weighted sum of distances, everywhere a distance is taken."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from tests.relaxed.cases import Corpus, random_corpus
from wordferry import Measure, blend, find_distance, pairwise, top_k
from wordferry.errors import InputError

TEXTS = ["zyxlib reads a table", "the cat sleeps on the sofa", "a dog rests on a couch", "quuxor reads a table"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=21, documents=15)


@pytest.mark.parametrize(
    "parts",
    [
        {"rel-rwmd": 1.0, "cosine": 1.0},
        {"rel-rwmd": 0.7, "wcd": 0.3, "bow-l1": 2.0},
        {"wmd": 1.0, "rel-wmd": 0.5},
        {"rwmd": 1.0, "rel-rwmd": 1.0, "act": 0.25},
    ],
)
def test_a_blend_is_the_sum(corpus: Corpus, parts: dict[str, float]) -> None:
    distance = blend(*parts.items())
    truth = sum(share * pairwise(corpus.x, corpus.y, name, **corpus.options) for name, share in parts.items())
    found = pairwise(corpus.x, corpus.y, distance, **corpus.options)
    np.testing.assert_allclose(found, truth, atol=1e-5)
    np.testing.assert_array_equal(found, pairwise(corpus.x, corpus.y, distance.name, **corpus.options))
    np.testing.assert_allclose(
        pairwise(corpus.x, None, distance, **corpus.options),
        sum(share * pairwise(corpus.x, None, name, **corpus.options) for name, share in parts.items()),
        atol=1e-5,
    )
    near = top_k(corpus.x, corpus.y, 3, distance, **corpus.options)
    np.testing.assert_allclose(near.distances, np.sort(truth, axis=1)[:, :3], atol=1e-5)
    told = wordferry.explain(corpus.x[:1], corpus.y[2:3], distance, **corpus.options)
    assert told.distance == pytest.approx(truth[0, 2], abs=1e-5)
    assert told.distance == pytest.approx(sum(row.cost for row in told.rows))


def test_options_go_to_the_parts_that_know_them(corpus: Corpus) -> None:
    options = {"overlap": "keep", "side": "left"}
    truth = pairwise(corpus.x, corpus.y, "rel-rwmd", **options, **corpus.options)
    truth = truth + pairwise(corpus.x, corpus.y, "cosine", **corpus.options)
    found = pairwise(corpus.x, corpus.y, "rel-rwmd + cosine", **options, **corpus.options)
    np.testing.assert_allclose(found, truth, atol=1e-5)


def test_texts_with_unknown_words_and_weights() -> None:
    for weights in ("counts", "idf"):
        truth = sum(pairwise(TEXTS, distance=name, weights=weights) for name in ("rel-rwmd", "cosine"))
        found = Measure("rel-rwmd + cosine", weights=weights).pairwise(TEXTS)
        np.testing.assert_allclose(found, truth, atol=1e-5)
    searcher = wordferry.Searcher(TEXTS, "rel-rwmd + cosine", weights="idf")
    assert searcher.top_k(["quuxor"], 1).indices.tolist() == [[3]]


def test_names_of_blends() -> None:
    assert find_distance("rel-rwmd+0.5 * cosine").name == "rel-rwmd + 0.5*cosine"
    assert find_distance("act(transfers=2) + wcd").name == "act(transfers=2) + wcd"
    for wrong, message in (
        ("rel-rwmd + ", "Unknown distance ''"),
        ("rel-rwmd + x*cosine", "Cannot read 'x\\*cosine'"),
        ("rel-rwmd + -1*cosine", "share of cosine in a blend must be a number from 1e-06 to 1e\\+06"),
        ("cosine + cosine", "stands twice"),
        ("rel-rwmd + tfidf-cosine", "weights='idf'"),
    ):
        with pytest.raises(InputError, match=message):
            find_distance(wrong)
