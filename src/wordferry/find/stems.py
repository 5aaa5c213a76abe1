"""Stems: what the forms of a word have in common, by the Snowball stemmers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wordferry.errors import InputError
from wordferry.texts.irregular import singulars

UInt64Array = npt.NDArray[np.uint64]
Stemmer = Callable[[Sequence[str]], list[str]]
NO_LANGUAGE = "none"
"""The language in which every form is a word of its own."""


@cache
def languages() -> tuple[str, ...]:
    """The languages there are stems for, and "none"."""
    import snowballstemmer

    return (NO_LANGUAGE, *sorted(snowballstemmer.algorithms()))


def stemmer(language: str) -> Stemmer:
    """Words to stems, irregular plurals to those of their singular.

    The compiled stemmer (PyStemmer) is taken where it is installed; both give the same stems.
    """
    if language not in languages():
        raise InputError(
            f"language must be one of {', '.join(map(repr, languages()))}; got {language!r}. "
            "'none' lets a word match only itself."
        )
    if language == NO_LANGUAGE:
        return list
    import snowballstemmer

    made = snowballstemmer.stemmer(language)
    if hasattr(made, "maxCacheSize"):  # the compiled one: looking a word up in its cache takes longer than stemming it
        made.maxCacheSize = 0
    stems: Stemmer = made.stemWords
    irregular = singulars(language)
    return (lambda words: stems([irregular.get(word, word) for word in words])) if irregular else stems


@cache
def edition(language: str) -> str:
    """What stems depend on: the language, and the version of Snowball. Equal editions give equal stems."""
    if language == NO_LANGUAGE:
        return NO_LANGUAGE
    import snowballstemmer

    if type(snowballstemmer.stemmer(language)).__module__.startswith("snowballstemmer"):
        version = _version_of(Path(snowballstemmer.__file__).parent)
    else:  # the compiled one
        from Stemmer import version as compiled_version

        version = str(compiled_version())
    irregular = ", irregular plurals 1" if singulars(language) else ""
    return f"{language}, Snowball {'.'.join(version.split('.')[:2])}{irregular}"


def _version_of(package: Path) -> str:
    """The version of a package by the name of the folder beside it: importlib.metadata takes long to load."""
    found = [place.name for place in package.parent.glob(f"{package.name}-*.dist-info")]
    if len(found) == 1:
        return found[0].removeprefix(f"{package.name}-").removesuffix(".dist-info")
    from importlib import metadata

    return metadata.version(package.name)


def stem_keys(stems: Iterable[str]) -> UInt64Array:
    """A number of 64 bits for each stem or id, the same everywhere. Two of a million share one with chance 3e-8."""
    digests = (hashlib.blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest() for stem in stems)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
