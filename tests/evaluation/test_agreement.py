"""Correlation with human ratings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from wordferry.errors import InputError
from wordferry.judge.agreement import agreement, correlate, pearson, ranks
from wordferry.judge.evaluation import judged_measure
from wordferry.words.embeddings import Embeddings


def test_correlations_equal_those_of_scipy_with_ties():
    rng = np.random.default_rng(5)
    distances, ratings = rng.integers(0, 9, 60).astype(float), rng.integers(0, 5, 60).astype(float)
    found = correlate(distances, ratings)
    assert found.spearman == pytest.approx(stats.spearmanr(-distances, ratings).statistic)
    assert found.pearson == pytest.approx(stats.pearsonr(-distances, ratings).statistic)
    assert (found.pairs, found.empty) == (60, 0)


def test_far_pairs_that_people_call_different_agree():
    assert correlate([0.0, 1.0, 9.0], [5.0, 4.0, 0.0]).spearman == 1.0
    assert correlate([0.0, 1.0, 9.0], [0.0, 4.0, 5.0]).spearman == -1.0


def test_pairs_without_known_words_are_left_out_and_counted():
    line = Embeddings(list("abc"), [[0.0], [1.0], [3.0]], normalize=False)
    measure = judged_measure("wmd", embeddings=line, unknown="drop")
    found = agreement([["a"], ["a"], ["?"]], [["b"], ["c"], ["a"]], [5, 1, 3], measure)
    assert (found.spearman, found.pairs, found.empty) == (1.0, 2, 1)
    assert found.to_json()["empty"] == 1


def test_ranks_share_ties_and_constants_have_no_correlation():
    assert ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]
    assert math.isnan(pearson([1.0, 1.0], [1.0, 2.0]))


def test_wrong_input_is_named():
    with pytest.raises(InputError, match="at least 2"):
        correlate([1.0], [1.0])
    with pytest.raises(InputError, match="same length"):
        correlate([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="Rating 1"):
        correlate([1.0, 2.0], [1.0, np.nan])
    with pytest.raises(InputError, match="as many texts"):
        agreement(["a"], ["b", "c"], [1.0])
