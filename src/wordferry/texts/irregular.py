"""Irregular plurals, which no rule of a stemmer brings together with their singular."""

from __future__ import annotations

from functools import cache

from wordferry.texts.tokenizers import data_lines


@cache
def singulars(language: str) -> dict[str, str]:
    """The singular of each irregular plural of a language, by its English name; empty where there is no table.

    >>> [singulars("english").get(word, word) for word in ("wolves", "mice", "women", "children", "feet", "cats")]
    ['wolf', 'mouse', 'woman', 'child', 'foot', 'cats']
    """
    if language != "english":
        return {}
    return {
        plural: single for single, *plurals in map(str.split, data_lines("irregular_english.txt")) for plural in plurals
    }
