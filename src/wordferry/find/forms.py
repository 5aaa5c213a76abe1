"""An open vocabulary: words numbered as they come, whether or not they have a vector, and grouped by their stem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from wordferry.base.arrays import Int32Array, Int64Array
from wordferry.find.stems import stemmer
from wordferry.texts.stop_marks import is_marked


class FormPlace(NamedTuple):
    """Where a word of a query stands: its stem, and its number (-1 when no document has that form)."""

    group: int
    form: int


class Forms:
    """Words, their numbers, and the stem that each belongs to; it only grows.

    >>> forms = Forms("english", ["heat", "heating", "cat"])
    >>> forms.place("heated"), forms.place("cat"), forms.place("dog")
    (FormPlace(group=0, form=-1), FormPlace(group=1, form=2), None)
    """

    def __init__(self, language: str = "english", words: Iterable[str] = ()) -> None:
        self.language = language
        self._stems = stemmer(language)
        self._mutex = Lock()
        self._numbers: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._forms: list[list[int]] = []
        """The words of each stem."""
        self._words: list[str] = []
        self._group_of: list[int] = []
        self._array: Int32Array | None = None
        self.grow(words)

    def __len__(self) -> int:
        return len(self._group_of)

    @property
    def groups(self) -> int:
        """How many stems there are."""
        return len(self._forms)

    def grow(self, words: Iterable[str]) -> None:
        """Number words that are new, in the order in which they come."""
        with self._mutex:
            new = [word for word in dict.fromkeys(words) if word not in self._numbers]
            groups, forms = self._groups, self._forms
            for word, stem in zip(new, self._stems(new), strict=True):
                group = groups.get(stem, -1)
                if group < 0:
                    group = groups[stem] = len(forms)
                    forms.append([])
                number = len(self._words)
                self._group_of.append(group)
                forms[group].append(number)
                self._words.append(word)
                self._numbers[word] = number  # last: whoever finds the word finds all of it

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The numbers of words, new ones being numbered."""
        known = self._numbers
        try:
            return [known[word] for word in words]
        except KeyError:
            self.grow(words)
            return [known[word] for word in words]

    def place(self, word: str) -> FormPlace | None:
        """The stem and the form of a word of a query; None when no document has any form of it."""
        number = self._numbers.get(word)
        if number is not None:
            return FormPlace(self._group_of[number], number)
        with self._mutex:  # compiled stemmers are not made for several threads
            group = self._groups.get(self._stems([word])[0])
        return None if group is None else FormPlace(group, -1)

    def word(self, number: int) -> str:
        """A word by its number."""
        return self._words[number]

    @property
    def stop(self) -> Int64Array:
        """The stop words."""
        return np.array([number for number, word in enumerate(self._words) if is_marked(word)], dtype=np.int64)

    def words_of(self, group: int) -> Int32Array:
        """The words of a stem, ascending."""
        return np.array(self._forms[group], dtype=np.int32)

    @property
    def group_of(self) -> Int32Array:
        """The stem of every word, by its number."""
        with self._mutex:
            if self._array is None or len(self._array) != len(self._group_of):
                self._array = np.array(self._group_of, dtype=np.int32)
            return self._array
