"""Texts split and counted by the kernels, against the tokenizer and a counter of Python's own."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.stored_lists import counts_of
from wordferry.index.storage.terms import TermDictionary
from wordferry.index.write.counting import MANY, CountedDocuments, Counting
from wordferry.kernels.lists import BLOCK, build
from wordferry.kernels.native import WordCounter
from wordferry.texts.tokenizers import WordTokenizer
from wordferry.words.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["cat", "dog", "dont", "b", "S", "Cat", "e\u0301te\u0301", ""])
LETTERS = "aAbBsS'-_ 9.\u00e9\u0301\uff21catdogthe"
texts = st.text(st.sampled_from(LETTERS), max_size=30)
tokens = st.lists(st.text(st.sampled_from(LETTERS), max_size=4), max_size=6)
tokenizers = st.builds(
    WordTokenizer,
    lowercase=st.booleans(),
    stop=st.sampled_from([frozenset(), frozenset({"the", "b", "zebra"})]),
    min_length=st.integers(1, 3),
    keep_compounds=st.booleans(),
)


def slow(documents: list[Any], tokenizer: WordTokenizer) -> list[Any]:
    """The words of each document with their counts, how many tokens there are, and how many of them have a vector."""
    rows = []
    for document in documents:
        words = tokenizer(document) if isinstance(document, str) else document
        counts = Counter(VOCABULARY[VOCABULARY.get(w)] if VOCABULARY.get(w) >= 0 else w for w in words)
        known = sum(n for word, n in counts.items() if VOCABULARY.get(word) >= 0)
        rows.append((dict(counts), len(words), known))
    return rows


def counting(tokenizer: WordTokenizer) -> Counting:
    return Counting(TermDictionary.of_no_index(VOCABULARY), tokenizer)


def rows_of(found: CountedDocuments, terms: TermDictionary) -> list[Any]:
    """The same of what was counted, with words for their numbers."""
    bags, out = found.bags, []
    for i in range(len(found.tokens)):
        span = slice(bags.indptr[i], bags.indptr[i + 1])
        words = terms.words(bags.words[span].tolist())
        assert len(set(words)) == len(words)
        pairs = dict(zip(words, bags.counts[span].tolist(), strict=True))
        out.append((pairs, int(found.tokens[i]), int(found.known[i])))
    return out


def numbered(terms: TermDictionary) -> list[str]:
    return terms.words(range(terms.next))  # type: ignore[arg-type]


@given(st.lists(st.one_of(texts, tokens), max_size=5), tokenizers, st.integers(1, 3))
def test_words_are_those_of_the_tokenizer(documents: list[Any], tokenizer: WordTokenizer, threads: int) -> None:
    """Counted by Python or by the kernels: the same words, each with one number, the same order within documents."""
    few, many = counting(tokenizer), counting(tokenizer)
    wanted = slow(documents, tokenizer)
    assert rows_of(few.count(documents), few.terms) == wanted
    padded = many.count([*documents, *[[]] * MANY], threads)
    assert rows_of(padded, many.terms)[: len(documents)] == wanted
    assert sorted(numbered(few.terms)) == sorted(numbered(many.terms)) == sorted({w for bag, *_ in wanted for w in bag})
    before = numbered(many.terms)
    assert rows_of(many.count(documents, threads), many.terms) == wanted
    assert numbered(many.terms) == before


def test_the_number_of_threads_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    documents = [" ".join(f"word{i} cat" for i in rng.integers(0, 3000, 20)) for _ in range(1000)]
    made = []
    for threads in (1, 2, 5):
        one = counting(WordTokenizer())
        found = one.count(documents, threads)
        made.append(([array.tolist() for array in found.bags], numbered(one.terms)))
        assert rows_of(found, one.terms) == slow(documents, WordTokenizer())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("rows", [0, 1, BLOCK + 3])
@pytest.mark.parametrize("kind", [np.int32, np.uint16])
def test_lists_are_the_bags_turned_round(rows: int, kind: Any) -> None:
    rng = np.random.default_rng(rows)
    bags = [np.flatnonzero(rng.random(8) < 0.3) for _ in range(min(rows, 500))]
    bags += [np.array([rng.integers(8)]) for _ in range(rows - len(bags))]
    indptr = np.cumsum([0, *map(len, bags)]).astype(np.int64)
    words = np.concatenate([np.zeros(0, np.int64), *bags]).astype(kind)
    counts = rng.integers(1, 9, len(words)).astype(np.uint8)
    found = counts_of(build(indptr, words, counts))
    own = np.repeat(np.arange(rows), np.diff(indptr)).tolist()
    assert found == dict(zip(zip(own, words.tolist(), strict=True), counts.tolist(), strict=True))


def test_words_made_to_meet_in_one_place_do_not() -> None:
    """Texts are written by strangers: words that fall together under a hash without a key are easy to find."""
    numbers = np.arange(3_000_000, dtype=np.uint64)
    found = np.full(len(numbers), 1469598103934665603, np.uint64)
    letters = (numbers[:, None] // 26 ** np.arange(6, dtype=np.uint64) % 26 + 97).astype(np.uint8)
    for column in letters.T:  # FNV-1a
        found = (found ^ column) * np.uint64(1099511628211)
    chosen = letters[(found ^ found >> np.uint64(29)) & np.uint64(2047) == 0]
    words = [bytes(row).decode() for row in chosen[:1000]]
    assert len(set(words)) == 1000
    counter = WordCounter({}, [], lowercase=True, min_length=1)
    assert counter.count([words, words[::-1]], 0, 1).new_words == words
    assert counter._native.longest_run < 100


def test_words_are_added_while_texts_are_counted() -> None:
    """A thread that waits for the other's table must not keep what the other asks for now and then."""
    counter = WordCounter({}, [], lowercase=True, min_length=1)
    text = " ".join(f"w{number}" for number in range(50_000))
    adding = threading.Thread(target=lambda: [counter.add({f"a{i}": i}) for i in range(2000)])
    adding.start()
    for _ in range(5):
        counter.count([text] * 8, 10_000, 1)
    adding.join(60)
    assert not adding.is_alive()
