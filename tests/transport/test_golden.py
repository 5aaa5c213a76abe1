"""wmd and rel-wmd of the native solver against the golden values."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


@pytest.fixture(scope="module")
def corpus(golden):
    vectors = np.load(golden / "embeddings.npy")
    documents = json.loads((golden / "docs.json").read_text())["docs"]
    dense = np.zeros((len(documents), len(vectors)), np.int64)
    for row, document in enumerate(documents):
        for word, count in Counter(document).items():
            dense[row, word] = count
    embeddings = Embeddings([f"w{i}" for i in range(len(vectors))], vectors)
    return golden, sp.csr_array(dense), embeddings, RelatedWords.build(embeddings, 16)


@pytest.mark.parametrize(
    ("distance", "overlap", "name"),
    [
        ("wmd", "residual", "wmd"),
        ("wmd", "keep", "wmd"),
        ("rel-wmd", "residual", "rel-wmd_residual_r16"),
    ],
)
def test_all_pairs(corpus, distance, overlap, name):
    golden, X, embeddings, related = corpus
    truth = np.load(golden / f"formula_{name}.npy")
    options = {"embeddings": embeddings, "related": related, "overlap": overlap}
    values = wordferry.pairwise(X, X.copy(), distance, **options)
    np.testing.assert_allclose(values, truth, atol=1e-6)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(wordferry.pairwise(X, None, distance, **options), values)


def test_keep_differs_from_the_golden_values_only_by_the_clamp(corpus):
    """The golden "full" values let related words cost more than c_max; document 52 alone has such words."""
    golden, X, embeddings, related = corpus
    truth = np.load(golden / "formula_rel-wmd_full_r16.npy")
    values = wordferry.pairwise(X, X.copy(), "rel-wmd", embeddings=embeddings, related=related, overlap="keep")
    others = np.arange(len(truth)) != 52
    np.testing.assert_allclose(values[np.ix_(others, others)], truth[np.ix_(others, others)], atol=1e-6)
    assert (values[52] <= truth[52] + 1e-6).all()
    assert values[3, 52] == pytest.approx(related.c_max, abs=1e-6)


def test_weights_that_are_no_whole_numbers(corpus):
    golden, X, embeddings, _ = corpus
    values = wordferry.pairwise(X * 0.37, X.copy(), "wmd", embeddings=embeddings)
    np.testing.assert_allclose(values, np.load(golden / "formula_wmd.npy"), atol=1e-6)
    assert np.diag(wordferry.pairwise(X * 0.37, X * 0.37, "wmd", embeddings=embeddings)).max() == 0
