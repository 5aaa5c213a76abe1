"""The two learned relatives as scikit-learn estimators: checks, pickles, pipelines, resuming, and what others take."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import wordferry
from tests.api.test_estimator_checks import random_vectors
from wordferry import Embeddings, Index, pairwise
from wordferry.errors import InputError
from wordferry.learn import SupervisedWordMover, WordMoverEmbedding
from wordferry.neighbors import WordMoverClassifier


class VectorSupervised(SupervisedWordMover):
    def _given_vectors(self):
        columns = getattr(self, "n_features_in_", None)
        return None if columns is None else random_vectors(columns)


class VectorEmbedding(WordMoverEmbedding):
    def _vectors(self):
        columns = getattr(self, "n_features_in_", None)
        return None if columns is None else random_vectors(columns)


@parametrize_with_checks(
    [VectorSupervised(5, max_iter=4, on_empty="keep", threads=1), VectorEmbedding(6, on_empty="keep", threads=1)]
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


WORDS = [f"w{i}" for i in range(40)]


@pytest.fixture(scope="module")
def vectors() -> Embeddings:
    return Embeddings(WORDS, np.random.default_rng(0).standard_normal((40, 8)))


def documents(seed: int, count: int) -> tuple[list[list[str]], list[str]]:
    """Two classes that differ in one word of a document; the others are noise that hides it."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for number in range(count):
        kind = number % 2
        told = rng.choice(np.arange(10) + 10 * kind, 1)
        texts.append([WORDS[word] for word in [*told, *rng.choice(np.arange(20, 40), 6)]])
        labels.append("ab"[kind])
    return texts, labels


@pytest.fixture(scope="module")
def fitted(vectors) -> SupervisedWordMover:
    return SupervisedWordMover(5, max_iter=60, embeddings=vectors, threads=1).fit(*documents(1, 80))


def test_learning_finds_the_words_that_tell(fitted, vectors):
    texts, labels = documents(2, 60)
    plain = SupervisedWordMover(5, max_iter=0, embeddings=vectors, threads=1).fit(*documents(1, 80))
    assert fitted.score(texts, labels) > plain.score(texts, labels) + 0.1
    weights = np.array([fitted.weights_[word] for word in WORDS])
    assert weights[:20].mean() > 1.3 * weights[20:].mean()
    losses = [held for *_, held in fitted.history_]
    assert min(losses) < losses[0]


def test_few_steps_and_none_held_out(vectors):
    texts, labels = documents(1, 40)
    model = SupervisedWordMover(5, max_iter=3, validation_fraction=0, embeddings=vectors, threads=1).fit(texts, labels)
    assert [step for stage, step, *_ in model.history_ if stage == 1] == [0, 3]
    assert not np.allclose(model.components_ / model.components_[0, 0], np.eye(8))


def test_one_seed_gives_one_metric(fitted, vectors):
    again = clone(fitted).fit(*documents(1, 80))
    other = clone(fitted).set_params(random_state=1).fit(*documents(1, 80))
    assert np.array_equal(again.components_, fitted.components_)
    assert not np.array_equal(other.components_, fitted.components_)


def test_pickles_answer_as_before(fitted):
    texts, _ = documents(2, 20)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(texts), fitted.predict_proba(texts))


def test_fewer_dimensions(vectors):
    model = SupervisedWordMover(5, n_components=3, max_iter=20, embeddings=vectors, threads=1).fit(*documents(1, 40))
    assert model.embeddings_.dimensions == 3
    assert model.transform(documents(2, 4)[0]).shape == (4, 3)


def test_every_distance_takes_what_was_learned(fitted):
    texts = documents(2, 6)[0]
    for distance in ("wmd", "rwmd", "rel-rwmd", "wcd"):
        by_name = pairwise(texts, distance=distance, embeddings=fitted.embeddings_, weights="norm")
        by_word = pairwise(texts, distance=distance, embeddings=fitted.embeddings_, weights=fitted.weights_)
        np.testing.assert_allclose(by_name, by_word, rtol=1e-6)
    distances, indices = fitted.kneighbors(texts, 2)
    expected = pairwise(texts, documents(1, 80)[0], distance="wmd", embeddings=fitted.embeddings_, weights="norm")
    np.testing.assert_allclose(distances, np.take_along_axis(expected, indices, axis=1), rtol=1e-6)


def test_an_index_and_a_folder_keep_what_was_learned(fitted, tmp_path):
    fitted.embeddings_.save(tmp_path / "learned")
    learned = wordferry.load_embeddings(tmp_path / "learned")
    assert np.array_equal(learned.matrix, fitted.embeddings_.matrix)
    assert np.array_equal(learned.lengths, fitted.embeddings_.lengths)
    texts = [" ".join(words) for words in documents(1, 80)[0]]
    with Index.create(tmp_path / "index", embeddings=learned, weights="norm", distance="wmd") as index:
        index.add(texts)
        hits = index.similar(texts[3], 2)
    expected = pairwise([texts[3]], texts, distance="wmd", embeddings=learned, weights="norm")[0]
    assert [hit.distance for hit in hits] == pytest.approx(np.sort(expected)[:2].tolist(), abs=1e-6)


def test_other_vectors_are_mapped_too(fitted, vectors):
    found = fitted.transform(vectors)
    np.testing.assert_allclose(found.matrix, fitted.embeddings_.matrix, rtol=1e-5, atol=1e-6)
    assert np.array_equal(found.lengths, fitted.embeddings_.lengths)
    with pytest.raises(InputError, match="8 dimensions"):
        fitted.transform(Embeddings(["cat"], [[1.0, 2.0]]))


def test_documents_become_their_weighted_centroids(fitted):
    text = documents(2, 1)[0][0]
    weights = np.array([fitted.weights_[word] for word in text])
    rows = np.array([fitted.embeddings_.vector(word) for word in text])
    np.testing.assert_allclose(fitted.transform([text])[0], weights @ rows / weights.sum(), rtol=1e-5)


class Stop:
    """Raises KeyboardInterrupt, as Ctrl-C does, after some steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, done: int, total: int, /) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_the_best_so_far(vectors):
    model = SupervisedWordMover(5, max_iter=60, embeddings=vectors, threads=1, progress=Stop(45))
    with pytest.warns(RuntimeWarning, match="best metric so far"):
        model.fit(*documents(1, 80))
    assert max(step for _, step, *_ in model.history_) == 40
    assert not np.array_equal(model.components_, np.eye(8))
    assert model.score(*documents(2, 20)) > 0.5


def test_a_stopped_training_is_resumed(fitted, vectors, tmp_path):
    place = tmp_path / "state"
    model = clone(fitted).set_params(checkpoint=place, progress=Stop(90))
    with pytest.warns(RuntimeWarning, match="stopped"):
        model.fit(*documents(1, 80))
    told = []
    model.set_params(progress=lambda done, total: told.append(done)).fit(*documents(1, 80))
    assert told[0] > 60
    assert np.array_equal(model.components_, fitted.components_)
    with pytest.raises(InputError, match="other documents"):
        model.fit(*documents(3, 80))


def test_a_warm_start_goes_on(fitted, vectors):
    model = clone(fitted).set_params(warm_start=True, max_iter=20).fit(*documents(1, 80))
    first = model.components_
    model.fit(*documents(1, 80))
    assert {stage for stage, *_ in model.history_} == {1}
    assert model.components_.shape == first.shape


def test_without_steps_vectors_and_weights_are_used_as_they_are(fitted):
    model = SupervisedWordMover(5, max_iter=0, weights="norm", embeddings=fitted.embeddings_).fit(*documents(1, 80))
    texts = documents(2, 20)[0]
    np.testing.assert_allclose(model.predict_proba(texts), fitted.predict_proba(texts), atol=1e-5)


def test_neighbours_vote_as_with_the_classifier(fitted):
    texts, labels = documents(1, 60)
    asked = documents(2, 40)[0]
    given = {"embeddings": fitted.embeddings_, "weights": "norm"}
    model = SupervisedWordMover(7, max_iter=0, **given).fit(texts, labels)
    classifier = WordMoverClassifier(7, "wmd", **given).fit(texts, labels)
    np.testing.assert_allclose(model.predict_proba(asked), classifier.predict_proba(asked), atol=1e-5)
    assert model.predict(asked).tolist() == classifier.predict(asked).tolist()


def test_the_module_is_an_attribute():
    assert wordferry.learn.SupervisedWordMover is SupervisedWordMover


def test_bad_settings_are_named(vectors):
    texts, labels = documents(1, 10)
    for name, value in (("max_iter", -1), ("n_components", 0), ("learning_rate", "fast"), ("validation_fraction", 2)):
        with pytest.raises(InputError, match=name):
            SupervisedWordMover(embeddings=vectors, **{name: value}).fit(texts, labels)


# Word Mover's Embedding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["wmd", "rwmd", "rel-rwmd"])
def test_features_are_those_of_the_definition(distance, vectors):
    texts = documents(1, 12)[0]
    model = WordMoverEmbedding(5, distance, gamma=2.0, weights="counts", embeddings=vectors).fit(texts)
    drawn = [[WORDS[word] for word in model._drawn.indices[a:b]] for a, b in zip(*_ends(model._drawn), strict=True)]
    assert all(any(set(one) <= set(text) for text in texts) for one in drawn)
    expected = pairwise(texts, model._drawn, distance=distance, embeddings=vectors, related=model.related_)
    np.testing.assert_allclose(model.transform(texts), np.exp(-2 * expected) / np.sqrt(5), rtol=1e-5)


def _ends(matrix):
    return matrix.indptr[:-1], matrix.indptr[1:]


def test_random_vectors_lie_in_the_box(vectors):
    texts = documents(1, 12)[0]
    model = WordMoverEmbedding(6, "wmd", source="uniform", max_words=3, weights="counts", embeddings=vectors).fit(texts)
    drawn, box = model._random_vectors, vectors.matrix
    assert (drawn >= box.min(axis=0)).all()
    assert (drawn <= box.max(axis=0)).all()
    sizes = np.diff(model._drawn.indptr)
    assert sizes.min() >= 1
    assert sizes.max() <= 3
    cloud = np.array([vectors.vector(word) for word in texts[0]])
    start, stop = model._drawn.indptr[2:4]
    expected = wordferry.clouds.distance(cloud, drawn[start:stop], normalize=False)
    assert model.transform(texts)[0, 2] == pytest.approx(np.exp(-model.gamma_ * expected) / np.sqrt(6), rel=1e-5)


def test_words_without_a_vector_match_by_spelling(vectors):
    texts = [*documents(1, 12)[0], ["zyx"]]
    model = WordMoverEmbedding(40, gamma=1.0, embeddings=vectors).fit(texts)
    drawn = np.flatnonzero(
        (model._drawn.indices >= 40) & (np.diff(model._drawn.indptr).repeat(np.diff(model._drawn.indptr)) == 1)
    )
    assert len(drawn)
    row = np.searchsorted(model._drawn.indptr, drawn[0], side="right") - 1
    features = model.transform([["abc"], ["zyx"]])
    assert features[1, row] == pytest.approx(1 / np.sqrt(40))
    assert features[0, row] < features[1, row]


def test_pipelines_and_grid_searches(vectors):
    texts, labels = documents(1, 60)
    model = make_pipeline(WordMoverEmbedding(64, embeddings=vectors), StandardScaler(), LinearSVC(C=0.01))
    search = GridSearchCV(model, {"wordmoverembedding__max_words": [2, 8]}, cv=2).fit(texts, labels)
    assert search.score(*documents(2, 40)) > 0.6
    search = GridSearchCV(SupervisedWordMover(5, max_iter=20, embeddings=vectors), {"n_components": [2, 8]}, cv=2).fit(
        texts, labels
    )
    assert search.best_estimator_.embeddings_.dimensions in (2, 8)


def test_gamma_is_chosen_by_cross_validation_when_asked(vectors):
    texts, labels = documents(1, 60)
    model = WordMoverEmbedding(16, gamma="cv", embeddings=vectors).fit(texts, labels)
    assert model.gamma_ in model.cv_scores_
    assert len(model.cv_scores_) == 5
    with pytest.raises(InputError, match="needs classes"):
        WordMoverEmbedding(16, gamma="cv", embeddings=vectors).fit(texts)


def test_half_of_the_features_are_of_the_learned_distance_when_asked(vectors):
    texts, labels = documents(1, 20)
    given = {"embeddings": vectors, "random_state": 3}
    model = WordMoverEmbedding(9, supervised=True, **given).fit(texts, labels)
    learned = SupervisedWordMover(**given).fit(texts, labels).embeddings_
    assert np.array_equal(model.learned_.embeddings.matrix, learned.matrix)
    parts = [
        WordMoverEmbedding(5, **given).fit(texts),
        WordMoverEmbedding(4, embeddings=learned, weights="norm", random_state=4).fit(texts),
    ]
    expected = np.hstack([part.transform(texts) for part in parts]) / np.sqrt(2)
    assert np.array_equal(model.transform(texts), expected)
    assert np.array_equal(clone(model).fit_transform(texts, labels), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(texts), expected)
    assert len(model.get_feature_names_out()) == 9
    with pytest.raises(InputError, match="needs classes"):
        WordMoverEmbedding(9, supervised=True, **given).fit(texts)
    with pytest.raises(InputError, match="n_components"):
        WordMoverEmbedding(1, supervised=True, **given).fit(texts, labels)


def test_embeddings_of_documents_are_pickled_and_repeated(vectors):
    texts = documents(1, 20)[0]
    model = WordMoverEmbedding(8, embeddings=vectors)
    features = model.fit_transform(texts)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(texts), features)
    assert np.array_equal(clone(model).fit_transform(texts), features)


def test_what_cannot_be_drawn_is_refused(vectors):
    texts = documents(1, 4)[0]
    for given, message in (
        ({"source": "moon"}, "source must be"),
        ({"source": "uniform", "distance": "rel-rwmd"}, "source='corpus'"),
        ({"gamma": "wide"}, "gamma must be"),
    ):
        with pytest.raises(InputError, match=message):
            WordMoverEmbedding(4, embeddings=vectors, **given).fit(texts)
