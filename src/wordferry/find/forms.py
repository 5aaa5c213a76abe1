"""An open vocabulary: words numbered as they come, whether or not they have a vector, and grouped by their stem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from wordferry.base.arrays import Int32Array
from wordferry.errors import InputError
from wordferry.find.stems import stemmer
from wordferry.kernels.native_lists import UInt16Array

_MOST_FORMS = 1 << 16


class Place(NamedTuple):
    """Where a word of a query stands: its stem, and which form of it (-1 when no document has that form)."""

    group: int
    form: int


class Forms:
    """Words, their numbers, and the stem that each belongs to; it only grows.

    >>> forms = Forms("english", ["heat", "heating", "cat"])
    >>> forms.place("heated"), forms.place("cat"), forms.place("dog")
    (Place(group=0, form=-1), Place(group=1, form=0), None)
    """

    def __init__(self, language: str = "english", words: Iterable[str] = ()) -> None:
        self.language = language
        self._stems = stemmer(language)
        self._mutex = Lock()
        self._numbers: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._sizes: list[int] = []
        """How many forms each stem has."""
        self._words: list[str] = []
        self._group_of: list[int] = []
        self._form_of: list[int] = []
        self._arrays: tuple[Int32Array, UInt16Array] | None = None
        self.grow(words)

    def __len__(self) -> int:
        return len(self._group_of)

    @property
    def groups(self) -> int:
        """How many stems there are."""
        return len(self._sizes)

    def grow(self, words: Iterable[str]) -> None:
        """Number words that are new, in the order in which they come."""
        with self._mutex:
            new = [word for word in dict.fromkeys(words) if word not in self._numbers]
            groups, sizes = self._groups, self._sizes
            for word, stem in zip(new, self._stems(new), strict=True):
                group = groups.get(stem, -1)
                if group < 0:
                    group = groups[stem] = len(sizes)
                    sizes.append(0)
                if sizes[group] == _MOST_FORMS:
                    raise InputError(f"The stem {stem!r} has more than {_MOST_FORMS} forms; use language='none'.")
                self._group_of.append(group)
                self._form_of.append(sizes[group])
                sizes[group] += 1
                self._words.append(word)
                self._numbers[word] = len(self._words) - 1  # last: whoever finds the word finds all of it

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The numbers of words, new ones being numbered."""
        known = self._numbers
        try:
            return [known[word] for word in words]
        except KeyError:
            self.grow(words)
            return [known[word] for word in words]

    def place(self, word: str) -> Place | None:
        """The stem and the form of a word of a query; None when no document has any form of it."""
        number = self._numbers.get(word)
        if number is not None:
            return Place(self._group_of[number], self._form_of[number])
        with self._mutex:  # compiled stemmers are not made for several threads
            group = self._groups.get(self._stems([word])[0])
        return None if group is None else Place(group, -1)

    def word(self, number: int) -> str:
        """A word by its number."""
        return self._words[number]

    @property
    def group_of(self) -> Int32Array:
        """The stem of every word, by its number."""
        return self.arrays[0]

    @property
    def arrays(self) -> tuple[Int32Array, UInt16Array]:
        """The stem and the form of every word, by its number."""
        with self._mutex:
            if self._arrays is None or len(self._arrays[0]) != len(self._group_of):
                group_of = np.array(self._group_of, dtype=np.int32)
                self._arrays = group_of, np.array(self._form_of, dtype=np.uint16)
            return self._arrays
