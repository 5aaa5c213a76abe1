"""Weights of words: each scheme as a formula over counts, for every distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from tests.relaxed.cases import Corpus, random_corpus
from wordferry import DISTANCES, Embeddings, Measure, Searcher, pairwise
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.texts.bow import TfIdf
from wordferry.texts.weights import WEIGHTS, fit_weights

PLAIN = [name for name, record in DISTANCES.items() if not record.own_weights]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return random_corpus(seed=31, documents=12)


def weighed(counts: sp.csr_array, fitted_on: sp.csr_array, scheme: str, embeddings: Embeddings) -> sp.csr_array:
    """The scheme word by word, as its description says."""
    dense, fitted = counts.toarray().astype(float), fitted_on.toarray()
    documents, df = len(fitted), (fitted > 0).sum(axis=0)
    mean = fitted.sum() / documents
    out = np.zeros_like(dense)
    for row, column in zip(*np.nonzero(dense), strict=True):
        tf, length = dense[row, column], dense[row].sum()
        idf = math.log((1 + documents) / (1 + df[column])) + 1
        out[row, column] = {
            "counts": tf,
            "idf": tf * idf,
            "log-idf": (1 + math.log(tf)) * idf,
            "bm25": math.log(1 + (documents - df[column] + 0.5) / (df[column] + 0.5))
            * 2.5
            * tf
            / (tf + 1.5 * (0.25 + 0.75 * length / mean)),
            "norm": tf * float(embeddings.lengths[column]),
            "norm-idf": tf * float(embeddings.lengths[column]) * idf,
        }[scheme]
    return sp.csr_array(out)


def test_words_without_a_vector_have_the_mean_length() -> None:
    emb = Embeddings(["cat", "dog"], [[3.0, 4.0], [0.0, 3.0]])
    fitted = fit_weights("norm-idf", sp.csr_array(np.array([[1, 1, 1], [1, 0, 0]])), emb)
    assert fitted is not None
    idf = np.log(3 / np.array([3, 2, 2])) + 1
    np.testing.assert_allclose(fitted.per_word, idf * [5, 3, 4])
    assert fitted.unseen == pytest.approx((math.log(3) + 1) * 4)


@pytest.mark.parametrize("scheme", WEIGHTS)
@pytest.mark.parametrize("distance", PLAIN)
def test_every_scheme_by_every_distance(corpus: Corpus, distance: str, scheme: str) -> None:
    """Weights are fitted on Y, and are the same as weights computed beforehand."""
    X, Y = (weighed(side, corpus.y, scheme, corpus.embeddings) for side in (corpus.x, corpus.y))
    truth = pairwise(X, Y, distance, **corpus.options)
    np.testing.assert_allclose(
        pairwise(corpus.x, corpus.y, distance, weights=scheme, **corpus.options), truth, atol=1e-5
    )
    searcher = Searcher(corpus.y, distance, weights=scheme, **corpus.options)
    for row in range(3):
        found = searcher.top_k(corpus.x[row : row + 1], 4).distances[0]
        np.testing.assert_allclose(found, np.sort(truth[row])[:4], atol=1e-5)


def test_weights_of_your_own(corpus: Corpus) -> None:
    words = list(corpus.embeddings.vocabulary)
    weights = np.linspace(0.5, 2.0, len(words))
    truth = pairwise(sp.csr_array(corpus.x * weights), sp.csr_array(corpus.y * weights), "wmd", **corpus.options)
    named = dict(zip(words, weights.tolist(), strict=True))
    for given in (weights, weights.tolist(), named):
        found = Measure("wmd", weights=given, **corpus.options).pairwise(corpus.x, corpus.y)
        np.testing.assert_allclose(found, truth, atol=1e-5)
    scheme = TfIdf.fit(corpus.x)
    expected = pairwise(scheme.apply(corpus.x), scheme.apply(corpus.y), "rwmd", **corpus.options)
    np.testing.assert_allclose(
        pairwise(corpus.x, corpus.y, "rwmd", weights=scheme, **corpus.options), expected, atol=1e-5
    )


def test_words_that_come_later_weigh_what_a_word_of_no_document_weighs() -> None:
    embeddings = Embeddings(["cat", "dog", "cow"], np.eye(3))
    documents = [["cat", "dog"], ["cat"], ["cat", "zebu"]]
    searcher = Searcher(documents, "bow-l1", weights="idf", embeddings=embeddings)
    idf = {
        word: math.log(4 / (1 + df)) + 1 for word, df in (("cat", 3), ("dog", 1), ("zebu", 1), ("okapi", 0), ("cow", 0))
    }
    for query in (["cat", "okapi"], ["zebu", "cow"], ["okapi"]):
        total = sum(idf[word] for word in query)
        other = {word: idf[word] / (idf["cat"] + idf["zebu"]) for word in ("cat", "zebu")}
        mine = {word: idf[word] / total for word in query}
        expected = sum(abs(mine.get(word, 0) - other.get(word, 0)) for word in {*mine, *other})
        found = searcher.problem([query])
        values = wordferry.compare.problem.fill(found, np.empty(found.shape, dtype=np.float32))
        assert values[0, 2] == pytest.approx(expected, abs=1e-6)


def test_tfidf_distances_are_weighed_by_idf_unless_told_otherwise(corpus: Corpus) -> None:
    for distance, plain in (("tfidf-l1", "bow-l1"), ("tfidf-cosine", "cosine")):
        expected = pairwise(corpus.x, corpus.y, plain, weights="idf")
        np.testing.assert_array_equal(pairwise(corpus.x, corpus.y, distance), expected)
        other = pairwise(corpus.x, corpus.y, plain, weights="log-idf")
        np.testing.assert_array_equal(pairwise(corpus.x, corpus.y, distance, weights="log-idf"), other)


def test_wrong_weights(corpus: Corpus) -> None:
    for given, message in (
        ("tfidf", "weights must be one of 'counts', 'idf'"),
        (np.ones(3), "one finite, non-negative number for each word"),
        (-np.ones(80), "one finite, non-negative number for each word"),
        ({"w1": -1.0}, "weight of 'w1' must be a finite number"),
        ({"w1": "heavy"}, "weight of 'w1' must be a finite number"),
    ):
        with pytest.raises(InputError, match=message):
            pairwise(corpus.x, corpus.y, "wmd", weights=given, **corpus.options)
    with pytest.raises(InputError, match="pass embeddings="):
        pairwise(corpus.x, corpus.y, "cosine", weights="norm")
    with pytest.raises(EmptyDocumentError, match="only words of weight 0"):
        pairwise([["w1"]], [["w2"]], "wmd", weights={"w1": 0.0}, **corpus.options)


def test_lengths_of_vectors_are_kept(tmp_path) -> None:
    embeddings = Embeddings(["cat", "dog"], [[3.0, 4.0], [0.0, 2.0]])
    assert embeddings.lengths.tolist() == [5.0, 2.0]
    assert embeddings.restrict(["dog"]).lengths.tolist() == [2.0]
    embeddings.save(tmp_path / "vectors")
    assert Embeddings.load(tmp_path / "vectors").lengths.tolist() == [5.0, 2.0]
    true = Embeddings(["cat", "dog"], [[3.0, 4.0], [0.0, 2.0]], normalize=False)
    docs = [["cat", "dog"], ["dog"]]
    assert pairwise(docs, distance="bow-l1", weights="norm", embeddings=true)[0, 1] == pytest.approx(2 * 5 / 7)
    assert len(wordferry.default_embeddings().lengths) == len(wordferry.default_embeddings())
