"""How much work a request asks for, before any of it is done.

Work is counted in steps: a word of the request meets a document once by the cheapest distance, about five nanoseconds.
The factors are measured, and rough on purpose: they tell light requests from heavy ones, and refuse what would keep the
service busy for longer than a request may take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wordferry.compare.distances import find_distance
from wordferry.compare.problem import Effort
from wordferry.errors import InputError
from wordferry.web.engine import SearchQuery
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


@dataclass(frozen=True)
class WorkEstimate:
    """Steps to do, and bytes to hold while doing them."""

    steps: float
    bytes: float = 0.0
    what: str = ""
    """The request in its own words, for the message."""
    fields: str = ""

    def check(self, limits: Limits) -> WorkEstimate:
        """Itself, when the limits allow it."""
        times = max(self.steps / limits.work, self.bytes / limits.work_bytes)
        if times > 1:
            rounded = f"{times:.1f}" if times < 10 else f"{times:,.0f}"
            raise InputError(
                f"{self.fields}: {self.what} is about {rounded} times the work that one request may ask for. "
                "Send fewer or shorter texts, ask for fewer hits, or choose a distance that is cheaper, such as "
                "rel-rwmd."
            )
        return self

    def light(self, limits: Limits) -> bool:
        """Whether it may go before heavier work."""
        return self.steps <= limits.light_work


def of_search(queries: Sequence[SearchQuery], documents: int, vocabulary: int) -> WorkEstimate:
    """Queries of one lane over documents with so many different words; without a distance it is a search by words,
    which reads the lists of those words only."""
    distance, filter = queries[0].how.get("distance"), queries[0].filter or {}
    conditions = sum(len(rules) if isinstance(rules, Mapping) else 1 for rules in filter.values())  # a list is one
    cost = _BY_WORDS if distance is None else find_distance(distance).effort
    words = [query.most_words for query in queries]
    steps = documents * (cost.document * sum(count + _PASS for count in words) + _CONDITION * conditions)
    steps += cost.word * vocabulary * sum(words)
    for query in queries:
        steps += query.needed * (_HIT + query.explain * (_HIT_EXPLAINED + _HIT_WORD * query.most_words))
    many = f"{len(words)} text{'s' if len(words) > 1 else ''} of up to {max(words)} different words"
    hits = f"{max(query.needed for query in queries)} hits{' explained' if queries[0].explain else ''}"
    what = f"{many} x {documents} documents by {distance or 'words'} for {hits}"
    return WorkEstimate(steps, cost.word_bytes * vocabulary * max(words), what, "texts, distance, k")


def of_pair(distances: Sequence[str], first: int, second: int) -> WorkEstimate:
    """The distances of two texts that have ``first`` and ``second`` different words."""
    cells = first * second
    steps = cells * sum(find_distance(name).effort.pair for name in distances)
    what = f"{first} x {second} different words by {', '.join(distances)}"
    return WorkEstimate(steps, cells * _PAIR_BYTES, what, "a, b, distances")


def of_explanation(distance: str, first: int, second: int, shown: int) -> WorkEstimate:
    """The flows between texts of ``first`` and ``second`` different words, ``shown`` of which are shown."""
    cells = first * second
    what = f"{first} x {second} different words explained by {distance}"
    return WorkEstimate(cells * _EXPLAINED + shown * _PIECE, cells * _EXPLAINED_BYTES, what, "a, b")
