"""What users of scikit-learn expect of an estimator: frames, vectorizers in pipelines, radii, graphs, messages."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from wordferry.errors import EmptyDocumentError, InputError
from wordferry.words.embeddings import Embeddings

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from wordferry.judge.columns import WordMatrix
from wordferry.neighbors import (
    WordColumns,
    WordMoverClassifier,
    WordMoverNeighbors,
    WordMoverTransformer,
    symmetric_graph,
)

TEXTS = ["the cat sleeps", "a dog barks at night", "stocks fell sharply", "the bank raised its rates", "a kitten plays"]
TOPICS = ["pets", "pets", "money", "money", "pets"]


@pytest.fixture(scope="module")
def articles():
    chosen = wordferry.sample().articles[::6]
    return [article.text for article in chosen], [str(article.label) for article in chosen]


# Frames ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_texts_is_taken_as_frame_and_as_series(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"text": TEXTS, "topic": TOPICS})
    other = frames.DataFrame({"body": TEXTS})
    plain = WordMoverClassifier(1).fit(TEXTS, TOPICS).predict_proba(TEXTS)
    for X in (frame[["text"]], frame["text"], other[["body"]], other["body"], frame):
        model = WordMoverClassifier(1).fit(X, frame["topic"])
        np.testing.assert_array_equal(model.predict_proba(X), plain)
        assert model.predict(X[:2]).tolist() == TOPICS[:2]


def test_a_table_of_counts_is_read_by_the_names_of_its_columns():
    pandas = pytest.importorskip("pandas")
    counts = CountVectorizer()
    matrix = counts.fit_transform(TEXTS)
    words = counts.get_feature_names_out()
    dense = pandas.DataFrame(matrix.toarray(), columns=words)
    sparse = pandas.DataFrame.sparse.from_spmatrix(matrix, columns=words)
    tokens = list(map(counts.build_analyzer(), TEXTS))
    expected = WordMoverNeighbors(2).fit(tokens).kneighbors(tokens)
    for frame in (dense, sparse):
        distances, indices = WordMoverNeighbors(2).fit(frame).kneighbors(frame)
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_allclose(distances, expected[0], atol=1e-6)


# Vectorizers ----------------------------------------------------------------------------------------------------------


def test_a_count_vectorizer_needs_no_vocabulary_of_the_vectors():
    pipeline = make_pipeline(WordColumns(CountVectorizer()), WordMoverNeighbors(3)).fit(TEXTS)
    queries = ["a kitten sleeps at night", "rates fell"]
    distances, indices = pipeline[-1].kneighbors(pipeline[0].transform(queries))
    analyse = CountVectorizer().build_analyzer()
    known = set(pipeline[0].get_feature_names_out())
    expected = WordMoverNeighbors(3).fit(list(map(analyse, TEXTS)))
    want = expected.kneighbors([[word for word in analyse(text) if word in known] for text in queries])
    np.testing.assert_array_equal(indices, want[1])
    np.testing.assert_allclose(distances, want[0], atol=1e-6)


def test_the_weights_of_a_tfidf_vectorizer_are_used_as_they_are():
    tfidf = TfidfVectorizer()
    matrix = tfidf.fit_transform(TEXTS)
    vectors = wordferry.default_embeddings()
    words = tfidf.get_feature_names_out()
    assert set(words) <= set(vectors.vocabulary)
    placed = sp.lil_array((len(TEXTS), len(vectors)))
    for column, word in enumerate(words):
        placed[:, [vectors.vocabulary.get(word)]] = matrix[:, [column]].toarray()
    expected = wordferry.top_k(placed.tocsr(), placed.tocsr(), 2, "rwmd", embeddings=vectors)
    for weights in ("auto", None, "counts"):
        found = make_pipeline(WordColumns(tfidf), WordMoverNeighbors(2, "rwmd", weights=weights)).fit(TEXTS)
        distances, indices = found[-1].kneighbors(found[0].transform(TEXTS))
        np.testing.assert_array_equal(indices, expected.indices)
        np.testing.assert_allclose(distances, expected.distances, atol=1e-6)
    two_steps = WordColumns(make_pipeline(CountVectorizer(), TfidfTransformer())).fit_transform(TEXTS)
    np.testing.assert_allclose(two_steps.toarray(), matrix.toarray())
    assert two_steps.words == tuple(words)


def test_vectorizer_pipelines_are_cloned_searched_and_pickled(articles):
    texts, topics = articles
    pipeline = make_pipeline(WordColumns(CountVectorizer(stop_words="english")), WordMoverClassifier(3))
    grid = GridSearchCV(pipeline, {"wordcolumns__vectorizer__min_df": [1, 2], "wordmoverclassifier__r": [4]}, cv=2)
    grid.fit(texts, topics)
    best = grid.best_estimator_
    assert best.score(texts, topics) > 0.5
    again = pickle.loads(pickle.dumps(best))
    assert again.predict(texts).tolist() == best.predict(texts).tolist()
    assert clone(pipeline).get_params()["wordcolumns__vectorizer__stop_words"] == "english"


@pytest.mark.parametrize("unknown", ["match", "drop", "error"])
def test_words_without_a_vector_in_a_vectorizer(unknown):
    emb = Embeddings(["cat", "dog"], np.eye(2))
    texts = ["cat cat zebra", "dog cat", "dog zebra"]
    model = make_pipeline(WordColumns(), WordMoverNeighbors(2, "wmd", unknown=unknown, embeddings=emb, weights=None))
    if unknown == "error":
        with pytest.raises(InputError, match="Document 0 holds the word 'zebra'"):
            model.fit(texts)
        return
    model.fit(texts)
    expected = wordferry.pairwise(texts, None, "wmd", unknown=unknown, embeddings=emb, tokenizer=str.split)
    distances, indices = model[-1].kneighbors(model[0].transform(texts))
    np.testing.assert_allclose(distances, np.take_along_axis(expected, indices, axis=1), atol=1e-6)


def test_a_vectorizer_without_words_and_a_bare_matrix_are_told_what_to_do():
    with pytest.raises(InputError, match="get_feature_names_out"):
        WordColumns(HashingVectorizer()).fit(TEXTS)
    bare = make_pipeline(CountVectorizer(), WordMoverClassifier(1))
    with pytest.raises(InputError, match=r"WordColumns\(vectorizer\)"):
        bare.fit(TEXTS, TOPICS)
    with pytest.raises(InputError, match="one word for each of 2 columns, got 1"):
        WordMatrix.of(np.eye(2), ["cat"])


# Radius ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["cosine", "rwmd", "rel-rwmd", "wmd", "rel-wmd", "rel-rwmd + 2*cosine"])
def test_radius_neighbors_are_those_of_all_distances(articles, distance):
    texts, _ = articles
    model = WordMoverNeighbors(3, distance, weights="counts").fit(texts[:40])
    queries = texts[40:60]
    every = wordferry.pairwise(queries, texts[:40], distance, related=model.related_)
    radius = float(np.quantile(every, 0.2))
    judge = NearestNeighbors(radius=radius, metric="precomputed").fit(np.zeros((40, 40)))
    want_distances, want = judge.radius_neighbors(every.astype(np.float64), radius, sort_results=True)
    distances, indices = model.radius_neighbors(queries, radius, sort_results=True)
    for i in range(len(queries)):
        inside = np.abs(every[i] - radius) > 1e-5  # at the radius itself, rounding decides
        assert set(indices[i][inside[indices[i]]]) == set(want[i][inside[want[i]]])
        assert (np.diff(distances[i]) >= 0).all()
        np.testing.assert_allclose(distances[i], every[i][indices[i]], atol=1e-5)
    assert sum(map(len, want_distances)) > len(queries)


def test_radius_of_the_fitted_documents_and_its_graph(articles):
    texts, _ = articles
    model = WordMoverNeighbors(3, "cosine", radius=0.9).fit(texts[:30])
    distances, indices = model.radius_neighbors()
    assert all(i not in row for i, row in enumerate(indices))
    assert all((np.diff(row) > 0).all() for row in indices)
    graph = model.radius_neighbors_graph(mode="distance")
    assert graph.shape == (30, 30)
    np.testing.assert_allclose(graph.data, np.concatenate(distances))
    assert set(model.radius_neighbors_graph(texts[:30], 0.5).data.tolist()) == {1.0}
    assert model.radius_neighbors(texts[:1], 0.0, return_distance=False)[0].tolist() == [0]
    for radius in (-1, "far", True, float("nan")):
        with pytest.raises(InputError, match="radius must be a distance of at least 0"):
            model.radius_neighbors(texts[:1], radius)
    with pytest.raises(InputError, match="return_distance"):
        model.radius_neighbors(texts[:1], return_distance=False, sort_results=True)


# Numbers of neighbours, weights, messages -----------------------------------------------------------------------------


def test_more_neighbours_than_documents_are_refused_as_scikit_learn_refuses_them():
    theirs = NearestNeighbors(n_neighbors=9).fit(np.eye(5))
    ours = WordMoverNeighbors(9).fit(TEXTS)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 9"):
        theirs.kneighbors(np.eye(5))
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 9") as refused:
        ours.kneighbors(TEXTS)
    assert "Ask for 5 at most" in str(refused.value)
    assert ours.kneighbors(TEXTS, 5, return_distance=False).shape == (5, 5)
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit, but n_neighbors = 5"):
        ours.kneighbors(n_neighbors=5)
    with pytest.raises(ValueError, match="Ask for 5 at most"):
        WordMoverTransformer(5).fit_transform(TEXTS)
    model = WordMoverClassifier(19, voting="majority").fit(TEXTS, TOPICS)
    assert model.predict(TEXTS).tolist() == ["pets"] * 5  # the rule of the paper


@pytest.mark.parametrize("call", [wordferry.pairwise, wordferry.paired])
def test_no_weights_are_counts(call):
    np.testing.assert_array_equal(call(TEXTS, TEXTS, "rwmd", weights=None), call(TEXTS, TEXTS, "rwmd"))


def test_no_weights_are_counts_for_estimators():
    plain, none = (WordMoverNeighbors(2, weights=weights).fit(TEXTS).kneighbors(TEXTS) for weights in ("counts", None))
    np.testing.assert_array_equal(plain[0], none[0])
    np.testing.assert_array_equal(plain[1], none[1])


def test_advice_about_empty_documents_can_be_followed():
    """An estimator refuses ``on_empty="drop"``, so it does not advise it; nor does any call about pairs."""
    for refused in (
        lambda: WordMoverClassifier(1).fit(["cat", "?!"], [0, 1]),
        lambda: WordMoverNeighbors(1).fit(["cat"]).kneighbors(["?!"]),
        lambda: WordMoverNeighbors(1, "cosine").fit(np.array([[1, 0], [0, 0]])),
        lambda: make_pipeline(WordColumns(), WordMoverNeighbors(1)).fit(["cat", "?!"]),
        lambda: wordferry.distance("cat", "?!"),
        lambda: wordferry.paired(["cat"], ["?!"]),
        lambda: wordferry.explain("cat", "?!"),
    ):
        with pytest.raises(EmptyDocumentError, match="no known word") as error:
            refused()
        assert "drop" not in str(error.value)
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert wordferry.distance("cat", "?!", on_empty="keep") == np.inf
    assert wordferry.paired(["cat"], ["?!"], on_empty="keep").tolist() == [np.inf]
    with pytest.raises(EmptyDocumentError, match="Drop such documents with on_empty='drop', or give such documents"):
        wordferry.pairwise(["cat", "?!"])
    assert wordferry.pairwise(["cat", "?!"], on_empty="drop").shape == (1, 1)
    with pytest.raises(InputError, match="'keep' or 'error' for a single pair"):
        wordferry.distance("cat", "?!", on_empty="drop")


# Graphs for others ----------------------------------------------------------------------------------------------------


def test_graphs_are_what_scikit_learn_s_own_are(articles):
    texts, _ = articles
    graph = WordMoverTransformer(5).fit_transform(texts)
    theirs = NearestNeighbors(n_neighbors=6).fit(np.eye(len(texts))).kneighbors_graph(mode="distance")
    assert type(graph) is type(theirs)
    assert (np.diff(graph.indptr) == 6).all()
    assert len(DBSCAN(eps=0.7, metric="precomputed").fit_predict(graph)) == len(texts)


def test_a_symmetric_graph_is_connected_and_keeps_every_edge(articles):
    texts, _ = articles
    graph = WordMoverTransformer(1).fit_transform(texts)
    both = symmetric_graph(graph, connect=False)
    assert (abs(both - both.T) > 0).nnz == 0
    np.testing.assert_allclose(both.toarray(), np.maximum(graph.toarray(), graph.T.toarray()))
    whole = symmetric_graph(graph)
    assert all((np.diff(whole.data[a:b]) >= 0).all() for a, b in zip(whole.indptr, whole.indptr[1:], strict=False))
    assert sp.csgraph.connected_components(whole)[0] == 1 < sp.csgraph.connected_components(both)[0]
    assert whole.max() == pytest.approx(2 * graph.max())
    labels = HDBSCAN(metric="precomputed", min_cluster_size=5, min_samples=2, copy=True).fit_predict(whole)
    assert len(set(labels)) > 1
    with pytest.raises(InputError, match=r"square sparse graph .* shape \(2, 3\)"):
        symmetric_graph(sp.csr_array((2, 3)))
