"""How much work a request asks for, before any of it is done.

Work is counted in steps: a word of the request meets a document once by the cheapest distance, about five nanoseconds.
The factors are measured, and rough on purpose: they tell light requests from heavy ones, and refuse what would keep the
service busy for longer than a request may take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordferry.compare.distances import DISTANCES
from wordferry.compare.problem import Effort
from wordferry.errors import InputError
from wordferry.web.settings import Limits

_PASS = 50
"""Words that each document costs whatever the request's words: its own are read once."""
_BY_WORDS = Effort(document=0.1)
_EXPLAINED = 250.0
_PAIR_BYTES = 8
_EXPLAINED_BYTES = 160
_CONDITION = 20.0
"""Steps of one condition of a filter on one document."""
_SHORT = 2
"""Characters of the shortest word with the space after it."""


class TooMuch(InputError):
    """A request that asks for more work than the service allows."""


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
                "Send fewer or shorter texts, or choose a distance that is cheaper, such as rel-rwmd."
            )
        return self

    def light(self, limits: Limits) -> bool:
        """Whether it may go before heavier work."""
        return self.steps <= limits.light_work


def of_search(distance: str | None, words: Sequence[int], documents: int, vocabulary: int, conditions: int) -> Work:
    """A search for texts of so many different words, in documents that have so many different words together.

    Without a distance it is one by words, which reads the lists of those words only.
    """
    cost = _BY_WORDS if distance is None else DISTANCES[distance].effort
    longest = max(words, default=0)
    steps = documents * (cost.document * sum(count + _PASS for count in words) + _CONDITION * conditions)
    steps += cost.word * vocabulary * sum(words)
    texts = f"{len(words)} text{'s' if len(words) > 1 else ''} of up to {longest} different words"
    what = f"{texts} x {documents} documents by {distance or 'words'}"
    return Work(steps, cost.word_bytes * vocabulary * longest, what, "texts, distance")


def of_pair(distances: Sequence[str], first: int, second: int) -> Work:
    """The distances of two texts of so many different words."""
    cells = first * second
    steps = cells * sum(DISTANCES[name].effort.pair for name in distances)
    what = f"{first} x {second} different words by {', '.join(distances)}"
    return Work(steps, cells * _PAIR_BYTES, what, "a, b, distances")


def of_explanation(distance: str, first: int, second: int) -> Work:
    """The flows between two texts of so many different words."""
    cells = first * second
    what = f"{first} x {second} different words explained by {distance}"
    return Work(cells * _EXPLAINED, cells * _EXPLAINED_BYTES, what, "a, b")


def most_words(text: str) -> int:
    """An upper bound on the words of a text, without looking at it."""
    return len(text) // _SHORT + 1


def conditions(filter: Mapping[str, Any] | None) -> int:
    """The conditions of a filter; a list of values is one."""
    wanted = (filter or {}).values()
    return sum(len(rules) if isinstance(rules, Mapping) else 1 for rules in wanted)


def _rounded(times: float) -> str:
    return f"{times:.1f}" if times < 10 else f"{times:,.0f}"
