"""Tokenizers: from a text to its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from wordferry.errors import InputError

Tokenizer = Callable[[str], list[str]]

# A letter or digit, then letters, digits, marks and inner apostrophes or hyphens ("don't", "well-known").
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


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

    A trailing possessive ``'s`` is removed and hyphenated words are split unless ``keep_compounds`` is set.
    """

    lowercase: bool = True
    stop: frozenset[str] = frozenset()
    min_length: int = 1
    keep_compounds: bool = False

    name = "words.v1"

    def __call__(self, text: str) -> list[str]:
        if self.lowercase:
            text = text.lower()
        found = _WORD.findall(text)
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
        values["stop"] = frozenset(values.get("stop", ()))
        return cls(**values)


def _split_compound(word: str) -> list[str]:
    if "'" in word or "’" in word:
        word = word.replace("’", "'")
        if word.endswith("'s"):
            word = word[:-2]
        if "'" in word:
            word = word.replace("'", "")
    return word.split("-") if "-" in word else [word]


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
