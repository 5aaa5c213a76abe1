"""An immutable two-way map between words and ids."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.errors import InputError, NotFound

_WIDE = re.compile("[\uff01-\uff9f]")


def spelling(word: str) -> str:
    """The usual spelling of a word: composed letters, of usual width."""
    return word if word.isascii() else unicodedata.normalize("NFKC" if _WIDE.search(word) else "NFC", word)


class Vocabulary(Sequence[str]):
    """Words with the ids 0 .. n-1, in the order given.

    Parameters
    ----------
    words : the words, each once.

    Examples
    --------
    >>> v = Vocabulary(["cat", "dog"])
    >>> v.id("dog"), v[0], "cow" in v
    (1, 'cat', False)
    """

    _load: Callable[[], Iterable[str]]

    def __init__(self, words: Iterable[str]) -> None:
        if isinstance(words, str):
            raise InputError(f"A vocabulary is made of a list of words, got one string ({words[:20]!r}).")
        self._words = tuple(words)
        if not all(issubclass(kind, str) for kind in set(map(type, self._words))):
            i, word = next((i, word) for i, word in enumerate(self._words) if not isinstance(word, str))
            raise InputError(f"Words must be str, got {type(word).__name__} at position {i}.")
        if len(self._ids) != len(self._words):
            repeated = next(i for i, word in enumerate(self._words) if self._ids[word] != i)
            word = self._words[repeated]
            raise InputError(
                f"The word {word!r} appears twice in the vocabulary (at positions {repeated} and {self._ids[word]})."
            )

    @classmethod
    def trusted(cls, words: Iterable[str]) -> Vocabulary:
        """A vocabulary of words known to be different strings; its table is built when a word is first looked up."""
        self = cls.__new__(cls)
        self._words = tuple(words)
        return self

    @classmethod
    def late(cls, load: Callable[[], Iterable[str]]) -> Vocabulary:
        """A vocabulary of words known to be different strings, loaded when one of them is first asked for."""
        self = cls.__new__(cls)
        self._load = load
        return self

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple(self._load())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, in the order of their ids."""
        return self._words

    @cached_property
    def _ids(self) -> dict[str, int]:
        return dict(zip(self._words, range(len(self._words)), strict=True))

    def __len__(self) -> int:
        return len(self._words)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._words[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self is other or self._words == other._words)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._words[:3]))
        return f"Vocabulary({len(self)} words: {shown}{', ...' if len(self) > 3 else ''})"

    def id(self, word: str) -> int:
        """The id of a word; NotFound when it has none."""
        try:
            return self._ids[word]
        except KeyError:
            raise NotFound(f"The word {word!r} is not in the vocabulary of {len(self)} words.") from None

    def get(self, word: str, default: int = -1) -> int:
        """The id of a word, or ``default``."""
        return self.spellings.get(word, default)

    def meet(self, words: Iterable[str]) -> None:
        """Told of the words of a query before they are looked up: some vocabularies make vectors for them."""

    @cached_property
    def finder(self) -> Callable[[str, int], int]:
        """``get`` without the cost of a call in Python, for loops over many words.

        A word that the vocabulary spells in another way (composed or not, of another width) is found too.
        """
        return self.spellings.get

    @cached_property
    def spellings(self) -> dict[str, int]:
        """The ids by every word, and by the usual spelling of words that are spelt otherwise."""
        if all(map(str.isascii, self._words)):
            return self._ids
        foreign = ((i, word) for i, word in enumerate(self._words) if not word.isascii())
        others = {usual: i for i, word in foreign if (usual := spelling(word)) != word}
        return {**others, **self._ids} if others else self._ids

    def ids(self, words: Iterable[str]) -> Int64Array:
        """Ids of many words, -1 for those without one."""
        get = self.finder
        return np.fromiter((get(word, -1) for word in words), dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of the words and their order."""
        words = [f"{len(word) if word.isascii() else _bytes(word)}:{word}" for word in self._words]
        return hashlib.sha256("".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _bytes(word: str) -> int:
    """How long a word is in UTF-8."""
    return len(word.encode("utf-8", "surrogatepass"))
