"""Tokenizers and stop words."""

from __future__ import annotations

import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry.errors import InputError
from wordferry.texts.tokenizers import WordTokenizer, default_tokenizer, make_tokenizer, stop_words

PLAIN = WordTokenizer()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  \n\t ...!", []),
        ("The Cat sat.", ["the", "cat", "sat"]),
        ("cat's cats' don't O'Neill's", ["cat", "cats", "dont", "oneill"]),
        ("well-known mother-in-law's -dash- --", ["well", "known", "mother", "in", "law", "dash"]),
        ("snake_case __x__ a1 2nd 3.14", ["snake", "case", "x", "a1", "2nd", "3", "14"]),
        ("it’s the cat’s non‑breaking", ["it", "the", "cat", "non", "breaking"]),
        ("Füße naïve Ørsted ΑΘΉΝΑ МОСКВА", ["füße", "naïve", "ørsted", "αθήνα", "москва"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("co\u00adop snake_füße", ["coop", "snake", "füße"]),
        ("<b>bold</b> https://x.org", ["b", "bold", "b", "https", "x", "org"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert PLAIN(text) == words


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert PLAIN(unicodedata.normalize("NFD", "naïve café")) == PLAIN("naïve café") == ["naïve", "café"]


def test_options() -> None:
    assert WordTokenizer(lowercase=False)("The Cat") == ["The", "Cat"]
    assert WordTokenizer(min_length=3)("a an ant") == ["ant"]
    assert WordTokenizer(keep_compounds=True)("don't well-known cat's") == ["don't", "well-known", "cat's"]
    assert WordTokenizer(stop=frozenset({"the"}))("The cat") == ["cat"]


@given(st.text(max_size=60))
def test_words_are_clean_whatever_the_text(text: str) -> None:
    for word in PLAIN(text):
        assert word
        assert not set(word) & set(" \n\t_-'.,;")
        assert any(c.isalnum() for c in word)


@given(st.booleans(), st.frozensets(st.sampled_from(["the", "a", "cat"])), st.integers(1, 3), st.booleans())
def test_config_makes_the_same_tokenizer(lowercase: bool, stop: frozenset[str], least: int, compounds: bool) -> None:
    tokenizer = WordTokenizer(lowercase, stop, least, compounds)
    assert WordTokenizer.from_config(tokenizer.config()) == tokenizer
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer


def test_unknown_config() -> None:
    with pytest.raises(InputError, match=r"'words\.v9'; this version knows 'words\.v1'"):
        WordTokenizer.from_config({"name": "words.v9"})
    with pytest.raises(InputError, match="'colour'"):
        WordTokenizer.from_config({"name": "words.v1", "colour": 3})


def test_stop_words_are_ours() -> None:
    stop = stop_words()
    assert 150 <= len(stop) <= 250
    assert {"the", "a", "of", "and", "is", "dont"} <= stop
    assert not {"cat", "good", "year", "new", "time", "people", "computer"} & stop
    assert all(PLAIN(word) == [word] for word in stop)  # each is what the tokenizer would make of it
    with pytest.raises(InputError, match=r"'klingon'.*english"):
        stop_words("klingon")


def test_default_and_made_tokenizers() -> None:
    assert default_tokenizer()("The cat and the dog don't") == ["cat", "dog"]
    assert make_tokenizer() == default_tokenizer()
    assert make_tokenizer(stop=None)("the cat") == ["the", "cat"]
    assert make_tokenizer(stop=["cat"])("the cat") == ["the"]
