"""How much work a request asks for, before any of it is done.

Work is counted in steps: a word of the request meets a document once by the cheapest distance, about five nanoseconds.
The factors are measured, and rough on purpose: they tell light requests from heavy ones, and refuse what would keep the
service busy for longer than a request may take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wordferry.compare.distances import DISTANCES
from wordferry.compare.problem import Effort
from wordferry.errors import InputError
from wordferry.web.settings import Limits

_PASS = 50
"""Words that each document costs whatever the request's words: its own are read once."""
_BY_WORDS = Effort(document=0.1)
_HIT = 8_000.0
"""Steps of one hit: its text is read, and written into the answer."""
_HIT_EXPLAINED = 40_000.0
_HIT_WORD = 2_500.0
"""Steps of each word in the explanation of a hit."""
_EXPLAINED = 250.0
_PIECE = 2_000.0
"""Steps of one word of a text that is shown in pieces."""
_PAIR_BYTES = 8
_EXPLAINED_BYTES = 160
_CONDITION = 20.0
"""Steps of one condition of a filter on one document."""
_SHORT = 2
"""Characters of the shortest word with the space after it."""


class TooMuch(InputError):
    """A request that asks for more work than the service allows."""


class Sizes(NamedTuple):
    """How much there is to search in."""

    documents: int
    words: int


class Wanted(NamedTuple):
    """One text of a search: its different words, and how many hits are wanted, explained or not."""

    words: int
    hits: int
    explain: bool = False

    @property
    def steps(self) -> float:
        """The work of its hits."""
        explained = _HIT_EXPLAINED + _HIT_WORD * self.words if self.explain else 0.0
        return self.hits * (_HIT + explained)


@dataclass(frozen=True)
class Work:
    """Steps to do, and bytes to hold while doing them."""

    steps: float
    bytes: float = 0.0
    what: str = ""
    """The request in its own words, for the message."""
    fields: str = ""

    def check(self, limits: Limits) -> Work:
        """Itself, when the limits allow it."""
        times = max(self.steps / limits.work, self.bytes / limits.work_bytes)
        if times > 1:
            raise TooMuch(
                f"{self.fields}: {self.what} is about {_rounded(times)} times the work that one request may ask for. "
                "Send fewer or shorter texts, ask for fewer hits, or choose a distance that is cheaper, such as "
                "rel-rwmd."
            )
        return self

    def light(self, limits: Limits) -> bool:
        """Whether it may go before heavier work."""
        return self.steps <= limits.light_work


def of_search(distance: str | None, texts: Sequence[Wanted], sizes: Sizes, filter: Mapping[str, Any] | None) -> Work:
    """A search; without a distance it is one by words, which reads the lists of those words only."""
    cost = _BY_WORDS if distance is None else DISTANCES[distance].effort
    words = [text.words for text in texts]
    longest = max(words, default=0)
    steps = sizes.documents * (cost.document * sum(count + _PASS for count in words) + _CONDITION * _conditions(filter))
    steps += cost.word * sizes.words * sum(words) + sum(text.steps for text in texts)
    many = f"{len(words)} text{'s' if len(words) > 1 else ''} of up to {longest} different words"
    hits = max((text.hits for text in texts), default=0)
    explained = " explained" if any(text.explain for text in texts) else ""
    what = f"{many} x {sizes.documents} documents by {distance or 'words'} for {hits} hits{explained}"
    return Work(steps, cost.word_bytes * sizes.words * longest, what, "texts, distance, k")


def of_pair(distances: Sequence[str], first: int, second: int) -> Work:
    """The distances of two texts of so many different words."""
    cells = first * second
    steps = cells * sum(DISTANCES[name].effort.pair for name in distances)
    what = f"{first} x {second} different words by {', '.join(distances)}"
    return Work(steps, cells * _PAIR_BYTES, what, "a, b, distances")


def of_explanation(distance: str, first: int, second: int, shown: int) -> Work:
    """The flows between two texts of so many different words, of which so many words are shown."""
    cells = first * second
    what = f"{first} x {second} different words explained by {distance}"
    return Work(cells * _EXPLAINED + shown * _PIECE, cells * _EXPLAINED_BYTES, what, "a, b")


def most_words(text: str) -> int:
    """An upper bound on the words of a text, without looking at it."""
    return len(text) // _SHORT + 1


def _conditions(filter: Mapping[str, Any] | None) -> int:
    """The conditions of a filter; a list of values is one."""
    wanted = (filter or {}).values()
    return sum(len(rules) if isinstance(rules, Mapping) else 1 for rules in wanted)


def _rounded(times: float) -> str:
    return f"{times:.1f}" if times < 10 else f"{times:,.0f}"
