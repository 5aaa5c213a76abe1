"""Tokenizers by language: stop words, elision, and segmentation of scripts without spaces between words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from wordferry.base.runtime import optional_import
from wordferry.errors import InputError
from wordferry.texts.folding import folded_with_places
from wordferry.texts.tokenizers import Span, WordTokenizer

LANGUAGES = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "fa": "persian", "fi": "finnish", "fr": "french", "he": "hebrew", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "it": "italian", "ja": "japanese", "ko": "korean", "nb": "norwegian",
    "nl": "dutch", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sk": "slovak",
    "sv": "swedish", "th": "thai", "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip
"""Codes of ISO 639-1 and the names that are taken for them."""
_ELISIONS = {
    "fr": frozenset(["l", "d", "j", "m", "t", "s", "c", "n", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"]),
    "it": frozenset(
        [
            "l",
            "un",
            "d",
            "all",
            "dall",
            "dell",
            "nell",
            "sull",
            "coll",
            "c",
            "s",
            "m",
            "t",
            "v",
            "quell",
            "quest",
            "sant",
        ]
    ),
    "ca": frozenset(["l", "d", "m", "t", "s", "n"]),
}
"""What stands before an apostrophe and is no word of its own."""

Pieces = Iterator[tuple[int, int]]


def language_code(language: str) -> str:
    """The code of a language by its code or name."""
    known = {name: code for code, name in LANGUAGES.items()}
    wanted = language.strip().lower() if isinstance(language, str) else ""
    code = known.get(wanted, wanted)
    if code not in LANGUAGES:
        names = ", ".join(f"{name} ({code})" for code, name in LANGUAGES.items())
        raise InputError(f"There is no language {language!r}. Choose one of: {names}.")
    return code


@dataclass(frozen=True)
class LanguageTokenizer:
    """The words of a text of one language.

    Chinese, Japanese and Thai are cut by a segmenter (jieba, fugashi and pythainlp: each an extra). In French, Italian
    and Catalan an article before an apostrophe is left out. All else is as in :class:`WordTokenizer`.

    >>> LanguageTokenizer("fr")("L'homme qu'elle aime")
    ['homme', 'elle', 'aime']
    """

    language: str
    lowercase: bool = True
    stop: frozenset[str] = frozenset()
    min_length: int = 1
    boundaries: str = "unicode"

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", language_code(self.language))
        self._spaced  # noqa: B018  # refuses boundaries that there are none of

    @property
    def name(self) -> str:
        """Under which name an index stores it."""
        return "language.v1" if self.boundaries == "plain" else "language.v2"

    def __call__(self, text: str) -> list[str]:
        return [word for word in self.all_words(text) if word not in self.stop]

    def all_words(self, text: str) -> list[str]:
        """The words of a text with its stop words, which are those in ``stop``."""
        if self.language in _SEGMENTERS:
            return [span.word for span in self._all_spans(text)]
        return [word for word in self._spaced.all_words(text, _ELISIONS.get(self.language)) if word]

    def with_stop(self, stop: frozenset[str]) -> LanguageTokenizer:
        """A tokenizer that leaves out other words."""
        return replace(self, stop=stop)

    def spans(self, text: str) -> list[Span]:
        """The words, each with where it stands in the text."""
        return [span for span in self._all_spans(text) if span.word not in self.stop]

    def _all_spans(self, text: str) -> list[Span]:
        segment = _SEGMENTERS.get(self.language)
        if segment is None:
            return self._spaced.with_stop(frozenset()).spans(text, _ELISIONS.get(self.language))
        folded, starts, ends = folded_with_places(text, lowercase=self.lowercase)
        found = [Span(folded[a:b], starts[a], ends[b - 1]) for a, b in segment(folded)]
        return [span for span in found if len(span.word) >= self.min_length]

    @property
    def _spaced(self) -> WordTokenizer:
        """What cuts a language with spaces between its words."""
        return WordTokenizer(self.lowercase, self.stop, self.min_length, boundaries=self.boundaries)

    def config(self) -> dict[str, object]:
        """What is needed to make the same tokenizer again."""
        return {
            "name": self.name,
            "language": self.language,
            "lowercase": self.lowercase,
            "stop": sorted(self.stop),
            "min_length": self.min_length,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LanguageTokenizer:
        """The tokenizer that :meth:`config` described."""
        values = {key: value for key, value in config.items() if key != "name"}
        if set(values) - {"language", "lowercase", "stop", "min_length"} or "language" not in values:
            raise InputError(f"The tokenizer {config.get('name')!r} cannot be made of {sorted(values)}.")
        boundaries = "plain" if config.get("name") == "language.v1" else "unicode"
        return cls(**{**values, "stop": frozenset(values.get("stop", ())), "boundaries": boundaries})


def _in_order(text: str, words: Any) -> Pieces:
    """Where words that were cut out of a text stand in it; those without a letter or digit are left out."""
    at = 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            continue
        at = start + len(word)
        if any(character.isalnum() for character in word):
            yield start, at


@cache
def _jieba() -> Any:
    module = optional_import("jieba", "chinese")
    module.setLogLevel(logging.WARNING)  # it tells of its dictionary on the standard error otherwise
    return module


def _chinese(text: str) -> Pieces:
    return _in_order(text, _jieba().cut(text))


@cache
def _tagger() -> Any:
    optional_import("unidic_lite", "japanese")
    return optional_import("fugashi", "japanese").Tagger()


def _japanese(text: str) -> Pieces:
    return _in_order(text, (word.surface for word in _tagger()(text)))


def _thai(text: str) -> Pieces:
    cut = optional_import("pythainlp.tokenize", "thai").word_tokenize
    return _in_order(text, cut(text, engine="newmm", keep_whitespace=False))


_SEGMENTERS: dict[str, Callable[[str], Pieces]] = {"zh": _chinese, "ja": _japanese, "th": _thai}
