"""Texts of requests in words, and why a text has none that can be searched for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wordferry.base.cancel import check_cancelled
from wordferry.errors import EmptyDocumentError
from wordferry.texts.bow import LookedUp, looked_up

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_SHOWN = 8


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
            return EmptyDocumentError(
                f"{what} has no known word: this index has no vector for {_listed(self.unknown)}. Use other words."
            )
        return no_word(self.text, what)


def no_word(text: str | Sequence[str], what: str) -> EmptyDocumentError:
    """Why a text gave no token at all."""
    spoken = WORD.findall(text) if isinstance(text, str) else list(text)
    if not spoken:
        return EmptyDocumentError(f"{what} has no words.")
    return EmptyDocumentError(
        f"{what} has only words that are left out because nearly every text has them ({_listed(spoken)}). "
        "Add a word that says what it is about."
    )


class Reader:
    """Splits texts as the index does."""

    def __init__(self, index: Any) -> None:
        self._tokenizer = index.tokenizer
        self._vocabulary = index.embeddings.vocabulary

    def tokens(self, text: str | Sequence[str]) -> list[str]:
        """A text's words, with a vector or without."""
        found: list[str] = self._tokenizer(text) if isinstance(text, str) else list(text)
        return found

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


def _listed(words: Sequence[str]) -> str:
    different = list(dict.fromkeys(words))
    return ", ".join(different[:_SHOWN]) + (", ..." if len(different) > _SHOWN else "")
