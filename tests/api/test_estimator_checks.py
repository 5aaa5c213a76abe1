"""scikit-learn's own checks of estimators.

They pass matrices of any number of columns, for which no real word vectors exist: distances that need vectors are run
with seeded random ones, made for the number of columns met. Some checks have documents without any word, hence
``on_empty="keep"``. No check is expected to fail.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from wordferry.words.embeddings import Embeddings

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from wordferry.neighbors import WordMoverClassifier, WordMoverNeighbors, WordMoverTransformer


@cache
def random_vectors(columns):
    rng = np.random.default_rng(columns)
    return Embeddings([f"w{i}" for i in range(columns)], rng.standard_normal((columns, 8)))


class _AnyColumns:
    """Word vectors for as many columns as a matrix happens to have."""

    def _vectors(self):
        columns = getattr(self, "n_features_in_", None)
        return None if columns is None else random_vectors(columns)


class VectorClassifier(_AnyColumns, WordMoverClassifier):
    pass


class VectorNeighbors(_AnyColumns, WordMoverNeighbors):
    pass


class VectorTransformer(_AnyColumns, WordMoverTransformer):
    pass


ESTIMATORS = [
    WordMoverClassifier(5, distance="cosine", on_empty="keep"),
    VectorClassifier(5, distance="rel-rwmd", on_empty="keep"),
    WordMoverNeighbors(5, distance="bow-l1", on_empty="keep"),
    VectorNeighbors(5, distance="rel-rwmd", on_empty="keep"),
    VectorTransformer(5, distance="wcd", on_empty="keep"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
