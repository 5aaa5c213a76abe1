"""The triplet task: both rules, ties, and documents without known words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wordferry.compare.calls import pairwise
from wordferry.errors import InputError
from wordferry.judge.evaluation import encoded, indexed_distances, judged_measure, paired_distances
from wordferry.judge.triplets import judge, triplets
from wordferry.texts.bow import TfIdf
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

# Words on a line: the distance of one-word documents is the difference of their places.
LINE = Embeddings(list("abcdef"), [[0.0], [1.0], [2.0], [3.0], [5.0], [8.0]], normalize=False)
TAILED = [["a", "x"], ["a", "x"], ["a", "y"]]
WMD = judged_measure("wmd", embeddings=LINE, unknown="drop")


def words(*names):
    return [[name] for name in names]


def test_closer_and_smallest_differ():
    # b lies between a and c: d(a,b) = 2 < d(a,c) = 3, but d(b,c) = 1 is the smallest.
    documents = words("a", "c", "d")
    assert triplets(documents, [(0, 1, 2)], WMD).solved == 1
    assert triplets(documents, [(0, 1, 2)], WMD, rule="smallest").solved == 0
    assert triplets(documents, [(2, 1, 0)], WMD, rule="smallest").solved == 1


def test_ties_fail_and_are_counted():
    documents = words("b", "a", "c")  # a and c are both at 1 from b
    result = triplets(documents, [(0, 1, 2)], WMD)
    assert (result.solved, result.failed, result.ties) == (0, 1, 1)
    assert result.error == 100.0


def test_empty_documents_are_apart():
    documents = [["a"], ["b"], ["f"], ["unknown"]]
    result = triplets(documents, [(0, 1, 2), (0, 1, 3), (3, 1, 2)], WMD)
    assert (result.solved, result.failed, result.empty) == (1, 0, 2)
    assert result.error == 0.0
    assert result.to_json()["error"] == 0.0


def test_nothing_to_judge_has_no_error_rate():
    assert math.isnan(judge([], []).error)
    assert math.isnan(triplets([["unknown"]], [(0, 0, 0)], WMD).error)


@pytest.mark.parametrize("distance", ["cosine", "wcd", "rwmd", "rel-rwmd", "wmd"])
def test_every_distance_can_be_judged(distance):
    measure = judged_measure(distance, embeddings=LINE, related=RelatedWords.build(LINE, 2))
    result = triplets([["a", "b"], ["b", "c"], ["e", "f"]], [(0, 1, 2)], measure)
    assert result.solved == 1


@pytest.mark.parametrize("distance", ["cosine", "tfidf-l1", "wcd", "rwmd", "rel-rwmd", "wmd"])
def test_pairs_in_blocks_equal_pairs_one_by_one(distance):
    rng = np.random.default_rng(2)
    documents = [rng.choice(list("abcdef"), 4).tolist() for _ in range(150)]
    first, second = rng.integers(0, 150, 140), rng.integers(0, 150, 140)
    measure = judged_measure(distance, embeddings=LINE, related=RelatedWords.build(LINE, 2), weights="counts")
    counts = encoded(documents, measure)
    idf = TfIdf.fit(counts.matrix) if distance == "tfidf-l1" else None
    everything = pairwise(counts, None, distance, embeddings=LINE, related=measure.related, weights=idf)
    assert np.allclose(indexed_distances(counts, first, second, measure), everything[first, second], atol=1e-5)


def test_wrong_rules_and_numbers_are_named():
    with pytest.raises(InputError, match="'closer', 'smallest'"):
        triplets(words("a"), [(0, 0, 0)], WMD, rule="strict")
    with pytest.raises(InputError, match=r"0 \.\. 0"):
        triplets(words("a"), [(0, 0, 1)], WMD)
    with pytest.raises(InputError, match="b and c"):
        judge([1.0], [2.0], rule="smallest")


def test_paired_distances_are_those_of_the_pairs():
    found = paired_distances(words("a", "b", "x"), words("c", "f", "a"), WMD)
    assert found[:2].tolist() == [2.0, 7.0]
    assert np.isinf(found[2])


def test_words_without_a_vector_are_judged_too():
    """Kept, they tell documents apart; a document of such words alone is not empty."""
    kept = judged_measure("wmd", embeddings=LINE)
    assert triplets(TAILED, [(0, 1, 2)], kept).solved == 1
    assert triplets(TAILED, [(0, 1, 2)], WMD).ties == 1
    found = paired_distances(words("x", "x"), words("x", "y"), kept)
    assert found[0] == 0
    assert 0 < found[1] < np.inf
