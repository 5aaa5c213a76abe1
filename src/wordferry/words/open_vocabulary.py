"""A vocabulary that grows: words without a vector get ids after those of the words that have one."""

from __future__ import annotations

from collections.abc import Iterable

from wordferry.words.vocabulary import Vocabulary


class OpenVocabulary:
    """A closed vocabulary, and ids behind its own for any other words.

    One open vocabulary can stand on another, which does not change: a collection has one, and each search puts its
    own unknown words behind those of the collection.

    >>> words = OpenVocabulary(Vocabulary(["cat", "dog"]))
    >>> words.add("cobol"), words.add("cat"), words.add("cobol"), words[2], len(words)
    (2, 0, 2, 'cobol', 3)
    """

    def __init__(self, base: Vocabulary | OpenVocabulary, words: Iterable[str] = ()) -> None:
        self.base = base
        self._words: list[str] = []
        self._ids: dict[str, int] = {}
        for word in words:
            self.add(word)

    def __len__(self) -> int:
        return len(self.base) + len(self._words)

    def __getitem__(self, number: int) -> str:
        start = len(self.base)
        return self.base[number] if number < start else self._words[number - start]

    def __contains__(self, word: object) -> bool:
        return word in self._ids or word in self.base

    @property
    def closed(self) -> Vocabulary:
        """The vocabulary at the bottom, whose words have vectors."""
        return self.base if isinstance(self.base, Vocabulary) else self.base.closed

    @property
    def extra(self) -> tuple[str, ...]:
        """All words without a vector, in the order of their ids."""
        below = () if isinstance(self.base, Vocabulary) else self.base.extra
        return (*below, *self._words)

    def get(self, word: str, default: int = -1) -> int:
        """The id of a word, or ``default``."""
        found = self._ids.get(word, -1)
        return found if found >= 0 else self.base.get(word, default)

    def add(self, word: str) -> int:
        """The id of a word, a new one if it had none."""
        found = self.closed.get(word)
        return found if found >= 0 else self.add_other(word)

    def add_other(self, word: str) -> int:
        """The id of a word that is known to have no vector, a new one if it had none."""
        found = self._other(word)
        if found < 0:
            found = self._ids[word] = len(self)
            self._words.append(word)
        return found

    def _other(self, word: str) -> int:
        found = self._ids.get(word, -1)
        return self.base._other(word) if found < 0 and isinstance(self.base, OpenVocabulary) else found

    def add_others(self, words: Iterable[str]) -> list[int]:
        """The ids of words that the closed vocabulary is known not to have, new ones where they had none."""
        own, ids, following = self._ids, [], len(self)
        for word in words:
            found = own.get(word, -1)
            if found < 0:
                found = self._other(word)
            if found < 0:
                found = own[word] = following
                self._words.append(word)
                following += 1
            ids.append(found)
        return ids
