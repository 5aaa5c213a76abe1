"""How many words have a vector, and one warning where so few have that distances say little."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

LEAST_TOKENS = 8
"""Tokens from which on a share of them says anything."""
_LONGEST_WORD = 6
"""Letters of a word in a script without spaces; a longer token is a whole clause."""
_LOOKED_AT = 1000
_UNSPACED = {
    "ja": "\u3041-\u3096\u30a1-\u30fa",
    "th": "\u0e01-\u0e4e",
    "lo": "\u0e81-\u0edf",
    "km": "\u1780-\u17d3",
    "my": "\u1000-\u104f",
    "zh": "\u4e00-\u9fff",
}
"""Letters by language: kana before Han letters, which Japanese shares with Chinese."""
_EXTRAS = {"ja": "japanese", "th": "thai", "zh": "chinese"}


class CoverageWarning(UserWarning):
    """Texts are compared by words most of which have no vector."""


def coverage_warning(tokens: int, known: int, unknown: Iterable[str]) -> str | None:
    """The warning for texts with ``tokens`` tokens, ``known`` of them with a vector; None where there is none to give.

    >>> coverage_warning(10, 9, ["xyz"]) is None
    True
    >>> print(coverage_warning(2, 0, ["今日は天気がいいですね"]).partition(":")[0])
    A text without spaces between its words was taken as one word
    """
    for word in islice(unknown, _LOOKED_AT):
        language = None if word.isascii() or len(word) <= _LONGEST_WORD else _unspaced(word)
        if language is not None:
            extra = _EXTRAS.get(language)
            line = (
                f"tokenizer={language!r} (an index: language={language!r}) and embeddings='multilingual', after "
                f"pip install 'wordferry[{extra},multilingual]'"
                if extra
                else "a tokenizer of your own, tokenizer=function, and embeddings='multilingual'"
            )
            return f"A text without spaces between its words was taken as one word: distances say nothing. Pass {line}."
    if tokens >= LEAST_TOKENS and 2 * known < tokens:
        return (
            "Fewer than half of the words have a vector, so texts are compared by equal spelling for the most part. If "
            "they are not English, pass embeddings='multilingual' and tokenizer='german' or whichever language it is "
            "(an index: language='german'), after pip install 'wordferry[multilingual,languages]'; if they are, load "
            "larger embeddings."
        )
    return None


def warn_of_coverage(tokens: int, known: int, unknown: Iterable[str], *, stacklevel: int = 3) -> bool:
    """Give the warning, if there is one; its text does not depend on the texts, so that Python gives it once."""
    said = coverage_warning(tokens, known, unknown)
    if said is not None:
        warnings.warn(said, CoverageWarning, stacklevel=stacklevel)
    return said is not None


@dataclass
class Coverage:
    """Counts of the tokens of documents that come one after another."""

    tokens: int = 0
    known: int = 0
    """Tokens that have a vector."""
    unknown: list[str] = field(default_factory=list)
    """Some of the words that have none."""

    def count(self, tokens: int, known: int, unknown: Iterable[str]) -> None:
        """Count further documents."""
        self.tokens, self.known = self.tokens + tokens, self.known + known
        self.unknown += islice(unknown, max(0, _LOOKED_AT - len(self.unknown)))

    def warn(self, *, stacklevel: int) -> bool:
        """Give the warning, if there is one; whether there was."""
        return warn_of_coverage(self.tokens, self.known, self.unknown, stacklevel=stacklevel)


def _unspaced(word: str) -> str | None:
    return next((language for language, letters in _UNSPACED.items() if re.search(f"[{letters}]", word)), None)
