"""Words and ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry import Vocabulary
from wordferry.errors import InputError, NotFound

WORD_LISTS = st.lists(st.text(max_size=5), unique=True, max_size=30)


@given(WORD_LISTS)
def test_words_and_ids_are_inverse(words: list[str]) -> None:
    v = Vocabulary(words)
    assert list(v) == words
    assert [v.id(word) for word in words] == list(range(len(words)))
    assert v.ids([*words, "not a word of it"]).tolist() == [*range(len(words)), -1]
    assert v[1:3] == tuple(words[1:3])
    assert all(word in v for word in words)
    assert Vocabulary.trusted(words) == v


def test_unknown_words() -> None:
    v = Vocabulary(["cat", "dog"])
    assert v.get("cow") == -1
    assert v.get("cow", 7) == 7
    assert "cow" not in v
    assert ["cat"] not in v
    with pytest.raises(NotFound, match="'cow' is not in the vocabulary of 2 words"):
        v.id("cow")
    with pytest.raises(KeyError):
        v.id("cow")


@given(WORD_LISTS)
def test_equality_and_fingerprint_follow_words_and_order(words: list[str]) -> None:
    v, same = Vocabulary(words), Vocabulary(iter(words))
    assert v == same
    assert hash(v) == hash(same)
    turned = Vocabulary(reversed(words))
    assert (turned.fingerprint == v.fingerprint) == (list(reversed(words)) == words)
    assert v != words


def test_fingerprint_is_stable_and_no_join() -> None:
    assert Vocabulary(["a\nb"]).fingerprint != Vocabulary(["a", "b"]).fingerprint
    assert Vocabulary(["cat", "dog"]).fingerprint == "52c6e0c76ddd6196"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b", "a"], "'a' appears twice .*positions 0 and 2"),
        (["a", 5], "got int at position 1"),
        (["a", ["b"]], "got list at position 1"),
        ("abc", "got one string"),
    ],
)
def test_refused(words: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Vocabulary(words)  # type: ignore[arg-type]


def test_prints_usefully() -> None:
    assert repr(Vocabulary(["a", "b"])) == "Vocabulary(2 words: 'a', 'b')"
    assert repr(Vocabulary("abcd"[i] for i in range(4))) == "Vocabulary(4 words: 'a', 'b', 'c', ...)"
