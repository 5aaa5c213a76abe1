"""The estimators on small texts and matrices: the paper's rule, r by cross-validation, and scikit-learn's machinery."""

from __future__ import annotations

import importlib
import pickle
import sys

import numpy as np
import pytest

import wordferry
from wordferry.compare.measure import Measure
from wordferry.errors import EmptyDocumentError, InputError, MissingDependency
from wordferry.judge.choosing import Validation, cross_validate_r
from wordferry.judge.selection import choose_r, folds
from wordferry.judge.voting import error_rate, vote
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from wordferry.neighbors import WordMoverClassifier, WordMoverNeighbors, WordMoverTransformer


@pytest.fixture(scope="module")
def articles():
    """60 articles of the sample with their topics, 4 topics."""
    records = wordferry.sample().articles
    topics = sorted({str(r.label) for r in records})[:4]
    chosen = [r for topic in topics for r in [a for a in records if a.label == topic][:15]]
    return [r.text for r in chosen], np.array([r.label for r in chosen])


PAPER = {"distance": "rel-rwmd", "weights": "counts"}
"""The settings of the paper."""


def small_world(documents=40, words=30, seed=0):
    rng = np.random.default_rng(seed)
    emb = Embeddings([f"w{i}" for i in range(words)], rng.standard_normal((words, 6)))
    X = rng.integers(0, 3, (documents, words)) * (rng.random((documents, words)) < 0.3)
    X[:, 0] += 1
    y = rng.integers(0, 3, documents)
    return emb, X, y


@pytest.mark.parametrize("distance", ["cosine", "wcd", "rwmd", "rel-rwmd"])
def test_predictions_follow_the_paper_s_rule(distance):
    emb, X, y = small_world()
    related = RelatedWords.build(emb, 3)
    options = {"voting": "majority", "weights": "counts", "embeddings": emb, "related": related}
    model = WordMoverClassifier(7, distance, **options).fit(X[:30], y[:30])
    D = wordferry.pairwise(X[30:], X[:30], distance, embeddings=emb, related=related)
    order = np.argsort(D, axis=1, kind="stable")
    assert model.predict(X[30:]).tolist() == vote(y[:30][order], 3, 7).winner.tolist()


def test_kneighbors_are_those_of_top_k_distances_first():
    emb, X, _ = small_world()
    model = WordMoverNeighbors(4, "rwmd", weights="counts", embeddings=emb).fit(X[:30])
    distances, indices = model.kneighbors(X[30:])
    expected = wordferry.top_k(X[30:], X[:30], 4, "rwmd", embeddings=emb)
    assert np.array_equal(indices, expected.indices)
    assert np.allclose(distances, expected.distances)


def test_fitted_documents_are_not_their_own_neighbours():
    emb, X, _ = small_world(12)
    X[5] = X[2]  # a duplicate, so that a document may not come first in its own list
    model = WordMoverNeighbors(3, "rwmd", weights="counts", embeddings=emb).fit(X)
    indices = model.kneighbors(return_distance=False)
    assert all(i not in row for i, row in enumerate(indices.tolist()))
    assert indices[2, 0] == 5
    assert indices[5, 0] == 2


def test_graphs_have_ones_or_distances():
    emb, X, _ = small_world(10)
    model = WordMoverNeighbors(3, "rwmd", weights="counts", embeddings=emb).fit(X)
    assert model.kneighbors_graph(X).sum() == 30
    assert model.kneighbors_graph(X, 2, "distance").nnz == 20
    with pytest.raises(InputError, match="'connectivity' or 'distance'"):
        model.kneighbors_graph(X, mode="both")


@pytest.mark.parametrize("voting", ["gap", "majority"])
def test_cross_validation_equals_training_on_the_other_folds(voting):
    emb, X, y = small_world(50)
    related = RelatedWords.build(emb, 8)
    plan = Validation(k=5, values=(1, 2, 4, 8), folds=4, seed=3, voting=voting)
    choice = cross_validate_r(
        wordferry.texts.bow.canonical_csr(X), y, Measure("rel-rwmd", embeddings=emb, related=related), validation=plan
    )
    fold = folds(y, 4, seed=3)
    for r in plan.values:
        predicted = np.empty_like(y)
        for number in range(4):
            held = fold == number
            smaller = related.restrict(r)
            model = WordMoverClassifier(5, **PAPER, voting=voting, embeddings=emb, related=smaller).fit(
                X[~held], y[~held]
            )
            predicted[held] = model.predict(X[held])
        assert choice.errors[r] == pytest.approx(error_rate(y, predicted))
    assert choice.r == choose_r(choice.errors)


def test_r_by_cross_validation_in_the_classifier():
    emb, X, y = small_world(50)
    model = WordMoverClassifier(5, **PAPER, embeddings=emb, r="cv", random_state=3).fit(X, y)
    assert set(model.cv_errors_) == {1, 2, 4, 8, 16, 32, 64, 128}
    assert model.r_ == choose_r(model.cv_errors_) == model.related_.r
    fixed = WordMoverClassifier(5, **PAPER, embeddings=emb, r=model.r_).fit(X, y)
    assert np.array_equal(model.predict(X), fixed.predict(X))


def test_train_and_all_words_differ_and_train_ignores_the_company():
    emb, X, y = small_world(40, 30)
    X[:20, 15:] = 0  # half of the words stand in later documents only
    train = WordMoverClassifier(3, **PAPER, embeddings=emb, r=2).fit(X[:20], y[:20])
    assert len(train.related_) < 30
    distances, _ = train.kneighbors(X[20:])
    alone = np.vstack([train.kneighbors(X[i : i + 1])[0] for i in range(20, 40)])
    assert np.allclose(distances, alone)
    both = WordMoverClassifier(3, **PAPER, embeddings=emb, r=2, vocabulary="all").fit(X[:20], y[:20])
    used = np.flatnonzero(X.any(axis=0))
    expected = wordferry.top_k(
        X[20:], X[:20], 3, embeddings=emb, related=RelatedWords.build(emb.restrict(used.astype(np.int64)), 2)
    )
    assert np.allclose(both.kneighbors(X[20:])[0], expected.distances)
    assert not np.allclose(both.kneighbors(X[20:])[0], distances)


def test_tfidf_weights_come_from_training_documents_only():
    emb, X, y = small_world()
    model = WordMoverClassifier(3, "rwmd", embeddings=emb, weights="tfidf").fit(X[:30], y[:30])
    idf = wordferry.texts.bow.TfIdf.fit(X[:30])
    assert np.array_equal(model.idf_, idf.idf)
    expected = wordferry.top_k(idf.apply(X[30:]), idf.apply(X[:30]), 3, "rwmd", embeddings=emb)
    assert np.array_equal(model.kneighbors(X[30:])[1], expected.indices)
    own = WordMoverClassifier(3, "rwmd", embeddings=emb, weights=idf.idf).fit(X[:30], y[:30])
    assert np.array_equal(own.kneighbors(X[30:])[1], expected.indices)


def test_raw_texts_and_token_lists(articles):
    texts, topics = articles
    model = WordMoverClassifier(5).fit(texts[::2], topics[::2])
    assert model.score(texts[1::2], topics[1::2]) > 0.6
    assert model.predict_proba(texts[1::2]).sum(axis=1) == pytest.approx(1.0)
    tokens = [text.lower().split() for text in texts]
    assert WordMoverClassifier(5, "cosine").fit(tokens, topics).score(tokens, topics) > 0.7


def test_documents_without_known_words(articles):
    texts, topics = articles
    with pytest.raises(EmptyDocumentError, match="Document 1"):
        WordMoverClassifier(unknown="drop").fit(["cat", "qqqq zzzz"], ["a", "b"])
    model = WordMoverClassifier(1, on_empty="keep", unknown="drop").fit(
        ["cat", "car", "bus"], ["rare", "common", "common"]
    )
    assert model.predict(["kitten", "zzqqzz"]).tolist() == ["rare", "common"]
    model.fit(["cat", "car", "bus", "qqzzqq"], ["rare", "common", "common", "odd"])
    assert model.predict(["kitten", "zzqqzz"]).tolist() == ["rare", "odd"]
    with pytest.raises(InputError, match="'error' or 'keep'"):
        WordMoverClassifier(on_empty="drop").fit(texts, topics)


def test_pipeline_grid_search_and_cross_validation(articles):
    texts, topics = articles
    vectors = wordferry.default_embeddings()
    counts = CountVectorizer(vocabulary=list(vectors.vocabulary))
    pipeline = make_pipeline(counts, WordMoverClassifier(5, embeddings=vectors))
    assert pipeline.fit(texts[::2], topics[::2]).score(texts[1::2], topics[1::2]) > 0.6
    grid = GridSearchCV(WordMoverClassifier(), {"n_neighbors": [1, 7], "distance": ["cosine", "rel-rwmd"]}, cv=3)
    grid.fit(texts, topics)
    assert grid.best_score_ > 0.7
    assert len(cross_val_score(WordMoverClassifier(5, "wcd"), texts, topics, cv=3)) == 3
    graph = make_pipeline(WordMoverTransformer(9), KNeighborsClassifier(5, metric="precomputed"))
    assert cross_val_score(graph, texts, topics, cv=3).mean() > 0.6


def test_pickles_predict_the_same_and_clones_are_unfitted(articles):
    texts, topics = articles
    model = WordMoverClassifier(5, r=4).fit(texts, topics)
    before = model.predict(texts)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(texts), before)
    assert len(pickle.dumps(model)) < 20_000_000  # the default vectors are not in it
    with pytest.raises(NotFittedError):
        clone(model).predict(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r": "best"}, "or 'cv'"),
        ({"r": 0}, "at least 1"),
        ({"vocabulary": "test"}, "'train', 'all'"),
        ({"weights": "tf"}, "'counts', 'idf'"),
        ({"distance": "wmdd"}, "Choose one of"),
        ({"n_neighbors": 0}, "at least 1"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        WordMoverClassifier(**options).fit(["cat", "dog"], [0, 1])


def test_a_matrix_needs_its_vectors():
    with pytest.raises(InputError, match="Pass embeddings="):
        WordMoverClassifier().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(InputError, match="cannot read texts"):
        WordMoverClassifier(1, "cosine").fit(np.eye(3), [0, 1, 2]).predict(["text"])


def test_without_scikit_learn_the_pip_line_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for module in ("wordferry.neighbors", "wordferry.judge.estimators"):
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(MissingDependency, match=r"pip install 'wordferry\[sklearn\]'"):
        importlib.import_module("wordferry.neighbors")


@pytest.mark.parametrize("weights", ["counts", "idf", "log-idf", "bm25", "norm"])
def test_weights_and_unknown_words_reach_the_search(articles, weights):
    texts, topics = articles
    texts = [f"{text} {topic}zyx" for text, topic in zip(texts[:40], topics[:40], strict=True)]
    near = WordMoverNeighbors(3, "rel-rwmd", weights=weights).fit(texts)
    distances, indices = near.kneighbors(texts[:5])
    expected = wordferry.top_k(texts[:5], texts, 3, "rel-rwmd", weights=weights, related=near.related_)
    np.testing.assert_array_equal(indices, expected.indices)
    np.testing.assert_allclose(distances, expected.distances, atol=1e-6)
    again = pickle.loads(pickle.dumps(near))
    np.testing.assert_array_equal(again.kneighbors(texts[:5], return_distance=False), indices)
    chosen = WordMoverClassifier(3, weights=weights, r="cv", folds=2).fit(texts, topics[:40])
    assert chosen.predict([f"{topics[0]}zyx"]).tolist() == [topics[0]]


def test_the_defaults_are_the_recommended_settings():
    """The sum of two distances with idf weights, as if it were asked for."""
    texts = wordferry.sample().texts
    topics = [article.label for article in wordferry.sample().articles]
    plain = WordMoverClassifier(5).fit(texts[::4], topics[::4])
    asked = WordMoverClassifier(5, "rel-rwmd + 4*cosine", weights="log-idf", unknown="match").fit(
        texts[::4], topics[::4]
    )
    found, expected = plain.kneighbors(texts[1:40:4]), asked.kneighbors(texts[1:40:4])
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])
    distances = wordferry.pairwise(
        texts[1:40:4], texts[::4], "rel-rwmd + 4*cosine", weights="log-idf", related=plain.related_
    )
    assert np.allclose(found[0], np.sort(distances, axis=1)[:, :5], atol=1e-5)


TEXTS = ["the cat sleeps", "a dog barks at the cat", "stocks fell sharply", "the bank raised rates", "a cat and a dog"]
TOPICS = ["pets", "pets", "money", "money", "pets"]


@pytest.mark.parametrize("voting", ["gap", "majority"])
def test_an_explanation_names_the_voters_and_the_words_they_share(voting):
    model = WordMoverClassifier(4, voting=voting).fit(TEXTS, TOPICS)
    told = model.explain("my cat barks")
    assert told.label == model.predict(["my cat barks"])[0] == "pets"
    shares = model.predict_proba(["my cat barks"])[0]
    assert told.shares == pytest.approx(dict(zip(model.classes_, shares, strict=True)))
    distances, indices = model.kneighbors(["my cat barks"])
    assert [voter.document for voter in told.voters] == indices[0].tolist()
    np.testing.assert_allclose([voter.distance for voter in told.voters], distances[0])
    assert sum(voter.vote for voter in told.voters) == pytest.approx(1)
    for name in model.classes_:
        assert sum(v.vote for v in told.voters if v.label == name) == pytest.approx(told.shares[name])
    assert told.voters[0].document == 1
    assert set(told.voters[0].words) == {"cat", "barks"}
    assert "cat" in str(told)
    assert told.to_columns()["label"][0] == "pets"


def test_an_explanation_of_a_row_and_of_a_text_without_neighbours():
    model = WordMoverClassifier(2, "cosine", on_empty="keep").fit(np.eye(4), [0, 0, 1, 1])
    told = model.explain(np.array([[1.0, 0.5, 0, 0]]))
    assert told.label == 0
    assert list(told.voters[0].words) == ["0"]
    alone = WordMoverClassifier(2, on_empty="keep").fit(TEXTS, TOPICS).explain("")
    assert alone.label == "pets"
    assert alone.voters == ()


def test_word_rotator_keeps_its_weights_unless_told_otherwise():
    for embeddings in (None, wordferry.Embeddings(["cat", "dog", "stocks"], np.eye(3) * 2 + 1, normalize=False)):
        options = {"unknown": "drop", "on_empty": "keep", "embeddings": embeddings}
        assert WordMoverNeighbors(1, "wrd", **options).fit(TEXTS).weighting_.scheme == "norm"
        assert WordMoverNeighbors(1, "wrd", weights="idf", **options).fit(TEXTS).weighting_.scheme == "idf"
        model = WordMoverNeighbors(1, "rel-rwmd(cost=cosine)", **options).fit(TEXTS)
        assert model.kneighbors(["a cat and a dog"], return_distance=False).tolist()[0] in ([1], [4])
