"""Tokenizers and stop words."""

from __future__ import annotations

import pickle
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordferry
from wordferry import Vocabulary, encode
from wordferry.errors import InputError
from wordferry.find.memory import WordSearch
from wordferry.texts.irregular import singulars
from wordferry.texts.tokenizers import WordTokenizer, as_tokenizer, default_tokenizer, make_tokenizer, stop_words

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
    assert {"the", "a", "of", "and", "is"} <= stop
    assert not {"not", "no", "never", "dont", "without", "against", "off", "out", "up", "down", "under", "less"} & stop
    assert not {"cat", "good", "year", "new", "time", "people", "computer"} & stop
    assert all(PLAIN(word) == [word] for word in stop)  # each is what the tokenizer would make of it
    with pytest.raises(InputError, match=r"'klingon'.*english"):
        stop_words("klingon")


def test_default_and_made_tokenizers() -> None:
    assert default_tokenizer()("The cat and the dog don't") == ["cat", "dog", "dont"]
    assert make_tokenizer() == default_tokenizer()
    assert make_tokenizer(stop=None)("the cat") == ["the", "cat"]
    assert make_tokenizer(stop=["cat"])("the cat") == ["the"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("turn it on", "turn it off"),
        ("The refund was received", "The refund was not received"),
        ("She does like it", "She doesn't like it"),
        ("Log in with it", "Log out with it"),
        ("with sugar", "without sugar"),
        ("prices go up", "prices go down"),
        ("It costs more", "It costs less"),
    ],
)
def test_texts_that_say_the_opposite_are_not_equal(first: str, second: str) -> None:
    assert wordferry.distance(first, second) > 0.05


@pytest.mark.parametrize(
    "tokenizer",
    [
        make_tokenizer(stop=["the", "of"]),
        make_tokenizer("fr", stop=["the", "of"]),
        make_tokenizer("en", stop=["the", "of"], compounds={"foot", "ball"}),
    ],
    ids=["words", "language", "compounds"],
)
def test_stop_words_can_be_kept(tokenizer: Any) -> None:
    text = "The rules of the football"
    every = tokenizer.all_words(text)
    assert tokenizer.stop == {"the", "of"}
    assert every[:4] == ["the", "rules", "of", "the"]
    assert tokenizer(text) == [word for word in every if word not in tokenizer.stop]
    assert [span.word for span in tokenizer.spans(text)] == tokenizer(text)
    assert as_tokenizer(tokenizer, stop=None)(text) == every
    assert as_tokenizer(tokenizer, stop=["rules"])(text)[0] == "the"
    assert as_tokenizer(tokenizer) is tokenizer


def test_stop_words_of_a_call() -> None:
    words = Vocabulary(["the", "cat", "not"])
    assert encode(["the cat, not"], words).toarray().tolist() == [[0, 1, 1]]
    assert encode(["the cat, not"], words, stop=None).toarray().tolist() == [[1, 1, 1]]
    assert encode(["the cat, not"], words, stop=["cat"]).toarray().tolist() == [[1, 0, 1]]
    assert len(WordSearch(["who is the who"], stop=None).search("the")) == 1
    with pytest.raises(InputError, match="a function of your own"):
        encode(["the cat"], words, tokenizer=str.split, stop=None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C++ and C#, or F# on .NET!", ["c++", "and", "c#", "or", "f#", "on", ".net"]),
        ("ASP.NET, c+ and a#b, x++y #tag", ["asp", "net", "c", "and", "a", "b", "x", "y", "tag"]),
        ("an e-mail, E-mails' e-commerce-site e- -e", ["an", "email", "emails", "ecommerce", "site", "e", "e"]),
        ("über C++ e-mail’s", ["über", "c++", "email"]),
        ("the e-mail's", ["the", "email"]),
    ],
)
def test_names_with_signs(text: str, words: list[str]) -> None:
    assert PLAIN(text) == words
    assert [span.word for span in PLAIN.spans(text)] == words
    for span in PLAIN.spans(text):
        assert text[span.start : span.end].lower().replace("-", "").startswith(span.word[:3])


def test_an_index_of_many_splits_them_as_one_text_is_split(tmp_path: Any) -> None:
    texts = ["C++ by e-mail", "C# by email", "music in C"] * 100
    with wordferry.Index.create(tmp_path / "many") as index:
        index.add(texts)
        assert len(index.search("c++", k=300)) == 100
        assert len(index.search("e-mail", k=300)) == len(index.search("email", k=300)) == 200


def test_irregular_plurals_have_a_singular() -> None:
    table = singulars("english")
    assert len(table) > 35
    assert not set(table) & set(table.values())
    assert singulars("german") == {}
