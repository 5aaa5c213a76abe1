"""Tokenizers: from a text to its words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from wordferry.errors import InputError

Tokenizer = Callable[[str], list[str]]

# Letters and digits, with inner apostrophes or hyphens ("don't", "well-known").
_ASCII_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")


@cache
def _unicode_word() -> re.Pattern[str]:
    """The same for any script (a text without underscores): combining marks belong to the letter before them."""
    marks = "".join(c for c in map(chr, range(0x300, 0x20000)) if unicodedata.category(c) in ("Mn", "Mc", "Me"))
    return re.compile(rf"\w[\w{marks}]*(?:['\-]\w[\w{marks}]*)*")


# Typographic apostrophes and hyphens as plain ones; a soft hyphen is not part of a word, a zero-width space ends one.
_PLAIN = str.maketrans({"_": " ", "\u2019": "'", "\u2010": "-", "\u2011": "-", "\u00ad": "", "\u200b": " "})


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    return _unicode_word().findall(text)


@cache
def stop_words(language: str = "english") -> frozenset[str]:
    """The stop-word list shipped with the package (``"english"``)."""
    if language != "english":
        raise InputError(
            f"There is no stop-word list for {language!r}; the list shipped is 'english'. Pass your own words."
        )
    text = resources.files("wordferry.data").joinpath("stop_words_english.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


@dataclass(frozen=True)
class WordTokenizer:
    """Unicode words, lower-cased, without stop words.

    >>> WordTokenizer(stop=frozenset({"the"}))("The cat's pyjamas, 2 of them")
    ['cat', 'pyjamas', '2', 'of', 'them']

    A possessive ``'s`` and other apostrophes are removed and hyphenated words are split unless ``keep_compounds`` is
    set. Any script with spaces between words will do; for one without, pass a function of your own (text -> words)
    wherever a ``tokenizer`` is asked for.
    """

    lowercase: bool = True
    stop: frozenset[str] = frozenset()
    min_length: int = 1
    keep_compounds: bool = False

    name = "words.v1"

    def __call__(self, text: str) -> list[str]:
        if self.lowercase:
            text = text.lower()
        found = _words(text)
        if not self.keep_compounds:
            found = [part for word in found for part in _split_compound(word)]
        stop, least = self.stop, self.min_length
        return [word for word in found if len(word) >= least and word not in stop]

    def config(self) -> dict[str, object]:
        """What is needed to make the same tokenizer again."""
        return {
            "name": self.name,
            "lowercase": self.lowercase,
            "stop": sorted(self.stop),
            "min_length": self.min_length,
            "keep_compounds": self.keep_compounds,
        }

    @classmethod
    def from_config(cls, config: dict[str, object]) -> WordTokenizer:
        """The tokenizer that :meth:`config` described."""
        if config.get("name") != cls.name:
            raise InputError(f"Unknown tokenizer {config.get('name')!r}; this version knows {cls.name!r}.")
        values: dict[str, Any] = {key: value for key, value in config.items() if key != "name"}
        unknown = set(values) - {"lowercase", "stop", "min_length", "keep_compounds"}
        if unknown:
            raise InputError(f"The tokenizer {cls.name!r} has no option {min(unknown)!r}.")
        values["stop"] = frozenset(values.get("stop", ()))
        return cls(**values)


def _split_compound(word: str) -> list[str]:
    parts = word.split("-") if "-" in word else [word]
    if "'" not in word:
        return parts
    return [part.removesuffix("'s").removesuffix("'S").replace("'", "") for part in parts]


@cache
def default_tokenizer() -> WordTokenizer:
    """Lower-cased Unicode words without English stop words."""
    return WordTokenizer(stop=stop_words("english"))


def make_tokenizer(
    *, lowercase: bool = True, stop: Iterable[str] | str | None = "english", min_length: int = 1
) -> WordTokenizer:
    """A tokenizer from plain options; ``stop`` is a list's name, an iterable of words, or None."""
    words = stop_words(stop) if isinstance(stop, str) else frozenset(stop or ())
    return WordTokenizer(lowercase=lowercase, stop=words, min_length=min_length)
