"""Which words an index knows: one language for its stop words, word boundaries and stems, or a tokenizer of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wordferry.errors import InputError
from wordferry.find.stems import NO_LANGUAGE, stemmer
from wordferry.find.stems import languages as stem_languages
from wordferry.texts.languages import LANGUAGES, language_code
from wordferry.texts.tokenizers import Tokenizer, WordTokenizer, make_tokenizer, tokenizer_config

_VARIANTS = {"porter": "en", "dutch_porter": "nl"}
"""Stems that have a name of their own within a language."""


def choose_words(
    tokenizer: Tokenizer | str | None, language: str | None, stop: Iterable[str] | str | None = ""
) -> tuple[dict[str, Any], str]:
    """The tokenizer as it is stored, and the language whose stems are known.

    A language brings its own tokenizer, and a tokenizer of a language its stems; two languages contradict each other.
    """
    code = _code(language)
    if stop != "":
        if tokenizer is not None:
            raise InputError("stop= belongs to the tokenizer of a language; tokenizer= names another: leave one out.")
        tokenizer = make_tokenizer(None if language == NO_LANGUAGE else language, stop=stop)
    if tokenizer is None and language not in (None, NO_LANGUAGE):
        tokenizer = WordTokenizer() if code is None else None if code == "en" else make_tokenizer(code)
    config = tokenizer_config(tokenizer)
    own = str(config["language"]) if "language" in config else None
    if language is None:
        return config, _stems_of(own or "en")
    if language == NO_LANGUAGE:
        return config, NO_LANGUAGE
    if own is not None and code != own:
        raise InputError(
            f"The tokenizer is {LANGUAGES[own]} and language={language!r} another language: pass one of the two. "
            f"language='{NO_LANGUAGE}' is for words without stems."
        )
    if code is not None and language not in _VARIANTS:
        return config, _stems_of(code)
    stemmer(language)
    return config, language


def _code(language: str | None) -> str | None:
    """The code of a language that has a tokenizer; None for one that has stems alone."""
    if language is None or language == NO_LANGUAGE:
        return None
    if language in _VARIANTS:
        return _VARIANTS[language]
    try:
        return language_code(language)
    except InputError:
        if language in stem_languages():
            return None
        raise


def _stems_of(code: str) -> str:
    name = LANGUAGES[code].lower() if code in LANGUAGES else "english"
    return name if name in stem_languages() else NO_LANGUAGE
