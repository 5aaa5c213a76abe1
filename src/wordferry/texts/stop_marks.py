"""Stop words that are kept: in documents behind a mark, and in queries that mean them.

A stop word of a text stands in the dictionary of a collection behind a mark, so it is another word than the same
letters in a list of tokens, has no vector and no stem in common with words that count, and weighs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from wordferry.texts.compounds import CompoundTokenizer
from wordferry.texts.tokenizers import KeptText, Tokenizer, negations, words_of

MARK = "\x01"
"""Before every stop word; no tokenizer of the package leaves this character in a word."""
AFTER_MARK = "\x02"
"""Follows every marked word in the order of spellings."""
_CAPITALS = re.compile(r"[^\W\d_]{2,}")


def is_marked(word: str) -> bool:
    """Whether a word of a dictionary is a stop word."""
    return word.startswith(MARK)


def unmarked(words: Iterable[str]) -> list[str]:
    """Words as people write them."""
    return [word.removeprefix(MARK) for word in words]


def marked_words(text: str | Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """All words of a document, its stop words behind the mark; tokens are taken as they are.

    >>> from wordferry.texts.tokenizers import WordTokenizer
    >>> marked_words("The cat", WordTokenizer(stop=frozenset({"the"})))
    ['\\x01the', 'cat']
    """
    if isinstance(text, KeptText):
        return list(text.tokens)
    if not isinstance(text, str):
        return list(text)
    if isinstance(tokenizer, CompoundTokenizer):
        words = marked_words(text, tokenizer.base)
        return [part for word in words for part in ([word] if is_marked(word) else tokenizer.parts(word))]
    stop = stop_of(tokenizer)
    every = getattr(tokenizer, "all_words", tokenizer)
    return [MARK + word if word in stop else word for word in every(text)]


def query_words(text: str | Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """The words of a query that word search looks for; tokens are taken as they are.

    Those that are no stop words; with stop words in capitals ("US", "IT support") where not the whole query is in
    capitals; and all of them where the others are negations at most ("the who", "to be or not to be").
    """
    words = words_of(text, tokenizer)
    if not isinstance(text, str):
        return words
    if negations_of(tokenizer).issuperset(words):
        return marked_words(text, tokenizer)
    if text.isupper() or not any(map(str.isupper, text)):
        return words
    stop = stop_of(tokenizer)
    meant = {MARK + one.lower() for one in _CAPITALS.findall(text) if one.isupper() and one.lower() in stop}
    return [word for word in marked_words(text, tokenizer) if not is_marked(word) or word in meant] if meant else words


def all_words(text: str | Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """All words of a text, stop words included."""
    return unmarked(marked_words(text, tokenizer))


def negations_of(tokenizer: Any) -> frozenset[str]:
    """The words that turn a meaning round, in the language of a tokenizer."""
    return negations(getattr(getattr(tokenizer, "base", tokenizer), "language", "en"))


def stop_of(tokenizer: Any) -> frozenset[str]:
    """The stop words of a tokenizer; none for a function of the user's own."""
    found: frozenset[str] = getattr(tokenizer, "stop", frozenset())
    return found
