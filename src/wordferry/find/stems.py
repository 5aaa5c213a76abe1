"""Stems: what the forms of a word have in common, by the Snowball stemmers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from wordferry.errors import InputError

Stemmer = Callable[[Sequence[str]], list[str]]
NO_LANGUAGE = "none"
"""The language in which every form is a word of its own."""


@cache
def languages() -> tuple[str, ...]:
    """The languages there are stems for, and "none"."""
    import snowballstemmer

    return (NO_LANGUAGE, *sorted(snowballstemmer.algorithms()))


def stemmer(language: str) -> Stemmer:
    """Words to stems. The compiled stemmer (PyStemmer) is taken where it is installed; both give the same stems."""
    if language not in languages():
        raise InputError(
            f"language must be one of {', '.join(map(repr, languages()))}; got {language!r}. "
            "'none' lets a word match only itself."
        )
    if language == NO_LANGUAGE:
        return list
    import snowballstemmer

    stems: Stemmer = snowballstemmer.stemmer(language).stemWords
    return stems
