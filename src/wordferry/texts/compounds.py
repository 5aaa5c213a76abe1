"""Compound words cut into words that have vectors, as German, Dutch and the Scandinavian languages make them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from wordferry.errors import InputError
from wordferry.texts.tokenizers import Span

_LEAST = 4
"""Letters of a part; shorter ones are endings and chance."""
_LINKS = ("", "s", "es", "n", "en", "er", "e", "-")
"""What may stand between two parts and belongs to neither: Arbeit-s-platz."""
_REMEMBERED = 1 << 16


@dataclass(frozen=True)
class CompoundTokenizer:
    """Words of another tokenizer; one without a vector is cut into parts that have one, where there are such.

    Of several ways to cut, the one with the fewest parts is taken, then the one whose shortest part is longest. A word
    that cannot be cut stays as it is.
    """

    base: Any
    words: Container[str] = field(repr=False, compare=False)
    _cut: Callable[[str], tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cut", lru_cache(_REMEMBERED)(self._search))

    @classmethod
    def of(cls, base: Any, words: Any) -> CompoundTokenizer:
        """Over the words of a vocabulary, of vectors, or of any set."""
        known = getattr(words, "vocabulary", words)
        if known is None or isinstance(known, str) or not hasattr(known, "__contains__"):
            raise InputError(
                "Compounds are cut into words that have vectors: pass compounds= an Embeddings, a Vocabulary or a set "
                f"of words; got {type(words).__name__}."
            )
        return cls(base, known)

    def __call__(self, text: str) -> list[str]:
        return [part for word in self.base(text) for part in self.parts(word)]

    @property
    def stop(self) -> frozenset[str]:
        """The words that are left out."""
        return frozenset(self.base.stop)

    def all_words(self, text: str) -> list[str]:
        """The words of a text with its stop words, which are those in ``stop``."""
        return [part for word in self.base.all_words(text) for part in self.parts(word)]

    def with_stop(self, stop: frozenset[str]) -> CompoundTokenizer:
        """A tokenizer that leaves out other words."""
        return CompoundTokenizer(self.base.with_stop(stop), self.words)

    def parts(self, word: str) -> list[str]:
        """A word as its parts, without the letters that link them."""
        return [word[start:end] for start, end in self._places(word)]

    def spans(self, text: str) -> list[Span]:
        """The words, each with where it stands in the text."""
        found = []
        for span in self.base.spans(text):
            plain = span.end - span.start == len(span.word)
            for start, end in self._places(span.word):
                place = (span.start + start, span.start + end) if plain else (span.start, span.end)
                found.append(Span(span.word[start:end], *place))
        return found

    def config(self) -> dict[str, object]:
        """What is needed to make the same tokenizer again, beside the words that have vectors."""
        base = self.base.config()
        language = {"language": base["language"]} if "language" in base else {}
        return {"name": "compounds.v1", "base": base, **language}

    def __getstate__(self) -> dict[str, Any]:
        return {"base": self.base, "words": self.words}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def _places(self, word: str) -> list[tuple[int, int]]:
        if len(word) < 2 * _LEAST or word in self.words:
            return [(0, len(word))]
        flat = self._cut(word)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def _search(self, word: str) -> tuple[int, ...]:
        """Where the parts begin and end: the best way to cut each ending of the word, from its shortest on."""
        size = len(word)
        best: dict[int, tuple[int, int, tuple[int, ...]]] = {size: (0, 0, ())}
        for start in range(size - _LEAST, -1, -1):
            ways = []
            for end in range(start + _LEAST, size + 1):
                if word[start:end] not in self.words:
                    continue
                for link in _LINKS if end < size else ("",):
                    rest = best.get(end + len(link)) if word.startswith(link, end) else None
                    if rest is not None and (end + len(link) < size or not link):
                        shortest = min(end - start, -rest[1] or size)
                        ways.append((rest[0] + 1, -shortest, (start, end, *rest[2])))
            if ways:
                best[start] = min(ways)
        return best[0][2] if 0 in best else (0, size)
