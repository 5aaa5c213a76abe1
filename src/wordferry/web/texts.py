"""Texts of requests in words, and why a text has none that can be searched for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wordferry.base.cancel import check_cancelled
from wordferry.errors import EmptyDocumentError
from wordferry.texts.bow import LookedUp, looked_up
from wordferry.texts.reasons import no_known_word, no_word
from wordferry.texts.records import words_of


@dataclass(frozen=True)
class Prepared:
    """A text in words."""

    text: str | Sequence[str]
    tokens: LookedUp
    """All of them, in order, with what the vocabulary says of each."""
    words: list[str]
    """Those that have a vector."""

    @property
    def unknown(self) -> list[str]:
        """Those that have none, each once."""
        return list(self.tokens.others)

    @property
    def different(self) -> int:
        """How many of those with a vector differ."""
        return len(self.tokens.bag)

    def no_known_word(self, what: str) -> EmptyDocumentError:
        """Why this text cannot be compared; ``what`` is how its sender knows it."""
        if self.unknown:
            return no_known_word(self.unknown, what)
        return no_word(self.text, what)


class Reader:
    """Splits texts as the index does."""

    def __init__(self, index: Any) -> None:
        self._tokenizer = index.tokenizer
        self._vocabulary = index.embeddings.vocabulary

    def tokens(self, text: str | Sequence[str]) -> list[str]:
        """A text's words, with a vector or without."""
        return words_of(text, self._tokenizer)

    def prepare(self, text: str | Sequence[str], whole: Prepared | None = None) -> Prepared:
        """A text's words; each different one is looked up once, or not at all in a part of a ``whole`` one."""
        tokens = looked_up(self.tokens(text), self._vocabulary, None if whole is None else whole.tokens.ids)
        words = [token for token in tokens if tokens.ids[token] >= 0] if tokens.others else tokens
        return Prepared(text, tokens, looked_up(words, self._vocabulary, tokens.ids))

    def prepare_all(self, texts: Sequence[str]) -> list[Prepared]:
        """The words of several texts, which may be long."""
        prepared = []
        for text in texts:
            check_cancelled()
            prepared.append(self.prepare(text))
        return prepared
