"""The constants of word search: few, named, and the same wherever they can be set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from wordferry.base.checks import real_number, whole_number
from wordferry.encoders.strength import UNKNOWN
from wordferry.errors import InputError

MOST_CANDIDATES = 2000
"""All pairs of candidates are compared, so their number is bounded."""


@dataclass(frozen=True)
class Settings:
    """How word search weighs what it finds.

    The defaults were chosen by cross-validation between two judged collections (``benchmarks/search.py`` prints what
    they give) and lie near those that held up on others.
    """

    k1: float = 1.5
    """How slowly further occurrences of a word stop counting."""
    b: float = 0.75
    """How much a document's length counts against it: 0 not at all, 1 in full."""
    stem: float = 0.6
    """How much another form of a query word counts ("heating" for "heated"): 0 not at all, 1 like the word itself."""
    lift: float = 0.3
    """The share of a score that comes from the document's neighbours: 0 none, for searches for one text. A document
    that has every word of the query is never lowered by it."""
    neighbours: int = 5
    """How many of the nearest candidates lift a document."""
    candidates: int = 300
    """How many of the documents that the words find are compared with each other."""
    power: float = 2.0
    """A neighbour weighs its nearness to this power: the larger, the more the nearest one decides."""
    meaning: float | None = None
    """With an encoder, what a document's score gains for each standard deviation by which its cosine with the query is
    above the mean of all documents: 0 searches by words alone; None is the encoder's own weight, which follows how well
    it knows sentences that say the same."""

    def __post_init__(self) -> None:
        for name, high in {"k1": 100, "b": 1, "stem": 1, "lift": 1, "power": 100}.items():
            real_number(getattr(self, name), name, 0, high)
        if self.meaning is not None:
            real_number(self.meaning, "meaning", 0, 100)
        for name, most in (("neighbours", 100), ("candidates", MOST_CANDIDATES)):
            whole_number(getattr(self, name), name, 0, most=most)

    def changed(self, **given: Any) -> Settings:
        """These settings but for what is given; None leaves a setting as it is."""
        names = [field.name for field in fields(self)]
        for name in given:
            if name not in names:
                raise InputError(f"Word search has no setting {name!r}; its settings are {', '.join(names)}.")
        values = {name: value for name, value in given.items() if value is not None}
        return replace(self, **values) if values else self

    def weighing(self, encoder: Mapping[str, Any] | None) -> Settings:
        """These settings with the weight of meaning decided; ``encoder`` is None where vectors were brought."""
        return self if self.meaning is not None else replace(self, meaning=encoder["weight"] if encoder else UNKNOWN)

    @property
    def lifts(self) -> bool:
        """Whether neighbours count at all."""
        return self.lift > 0 and self.neighbours > 0 and self.candidates > 1

    def wanted(self, k: int, *, by_meaning: bool = False) -> int:
        """How many rows a search for the best k must find by their own words, and by meaning where that counts."""
        return max(k, self.candidates) if self.lifts or by_meaning else k

    def to_json(self) -> dict[str, Any]:
        """As the catalogue of an index keeps them."""
        return asdict(self)
