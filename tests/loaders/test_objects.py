"""Vectors that other libraries have in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wordferry import load_embeddings
from wordferry.errors import FormatError, InputError, Unsupported

from . import files

WORDS, MATRIX = files.example(20, 4)


def same(source: Any) -> None:
    found = load_embeddings(source, normalize=False)
    assert list(found.vocabulary) == WORDS
    np.testing.assert_array_equal(found.matrix, MATRIX)
    assert list(load_embeddings(source, limit=2).vocabulary) == WORDS[:2]
    assert list(load_embeddings(source, words=["word1"]).vocabulary) == ["word1"]


def test_gensim() -> None:
    models = pytest.importorskip("gensim.models")
    vectors = models.KeyedVectors(4)
    vectors.add_vectors(WORDS, MATRIX)
    same(vectors)
    same(SimpleNamespace(wv=vectors))


def test_what_gensim_looks_like() -> None:
    same(SimpleNamespace(index_to_key=WORDS, vectors=MATRIX))
    broken = MATRIX.copy()
    broken[3] = np.inf
    with pytest.raises(FormatError, match=r"gensim, row 3: the vector of \"don't\" holds NaN or infinity"):
        load_embeddings(SimpleNamespace(index_to_key=WORDS, vectors=broken))


def test_spacy() -> None:
    vocab = pytest.importorskip("spacy.vocab")
    spacy_vectors = pytest.importorskip("spacy.vectors")
    vocabulary = vocab.Vocab(strings=WORDS)
    vocabulary.vectors = spacy_vectors.Vectors(strings=vocabulary.strings, data=MATRIX.copy(), keys=WORDS)
    same(vocabulary)
    same(SimpleNamespace(vocab=vocabulary))


class FakeSpacyVectors:
    """Two words on one row, one without a row, as a pruned spaCy table has."""

    mode = "default"
    data = MATRIX[:3]
    key2row = {11: 1, 10: 0, 12: 1, 13: -1, 14: 2}  # noqa: RUF012


def test_spacy_words_that_share_a_row() -> None:
    strings = {10: "a", 11: "b", 12: "c", 13: "d", 14: "e"}
    vocabulary = SimpleNamespace(strings=strings, vectors=FakeSpacyVectors())
    found = load_embeddings(vocabulary, normalize=False)
    assert list(found.vocabulary) == ["a", "b", "c", "e"]
    np.testing.assert_array_equal(found.matrix, MATRIX[[0, 1, 1, 2]])
    vocabulary.vectors.mode = "floret"
    with pytest.raises(Unsupported, match="floret"):
        load_embeddings(vocabulary)
    with pytest.raises(InputError, match="no vectors"):
        load_embeddings(SimpleNamespace(strings={}, vectors=SimpleNamespace(key2row={}, data=MATRIX)))


def test_model2vec() -> None:
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, **{word: i + 2 for i, word in enumerate(WORDS)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    vectors = np.vstack([np.zeros((2, 4), np.float32), MATRIX])
    same(model2vec.StaticModel(vectors, tokenizer))
    mapping = np.arange(22)
    mapping[-1] = 2  # the last word shares the first one's vector
    weights = np.full(22, 2.0, np.float32)
    found = load_embeddings(
        model2vec.StaticModel(vectors, tokenizer, token_mapping=mapping, weights=weights), normalize=False
    )
    np.testing.assert_array_equal(found.vector(WORDS[-1]), 2 * MATRIX[0])
