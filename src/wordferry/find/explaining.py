"""What a score is made of, so that a person can follow it: the words that matched, and the neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.frames import Tabular, bars
from wordferry.find.ranking import QueryWord, Ranker, Ranking
from wordferry.find.settings import Settings
from wordferry.texts.stop_marks import unmarked

_DESCRIBED = {"use_attribute_docstrings": True}
"""Lets the HTTP service describe the fields of its answers by what is said of them here."""


@dataclass(frozen=True)
class WordPart:
    """One word of the query: which forms of it stand in the document, how often, and what that gives."""

    __pydantic_config__ = _DESCRIBED
    word: str
    times: int
    """How often the query has it."""
    documents: int
    """How many documents have some form of it."""
    forms: dict[str, int]
    part: float


@dataclass(frozen=True)
class NeighbourPart:
    """A document near this one that the query found too, and what that gives."""

    __pydantic_config__ = _DESCRIBED
    row: int
    id: str | None
    share: float
    """Its weight among the neighbours; they sum to 1."""
    score: float
    """Its own score by the words of the query."""
    part: float


@dataclass(frozen=True)
class MeaningPart:
    """How near the document is to the query in meaning, and what that gives."""

    __pydantic_config__ = _DESCRIBED
    cosine: float | None
    """Of the vectors of document and query, where the document has one."""
    mean: float
    """Of the cosines of all documents with the query."""
    deviation: float
    """Their standard deviation."""
    part: float


@dataclass(frozen=True, repr=False)
class ScoreExplanation(Tabular):
    """A score as a sum: the parts of the words, of the neighbours and of meaning add up to it."""

    __pydantic_config__ = _DESCRIBED
    score: float
    words: tuple[WordPart, ...]
    neighbours: tuple[NeighbourPart, ...]
    missing: tuple[str, ...]
    """Words of the query that no document of the collection has."""
    meaning: MeaningPart | None = None
    """Where the search was by words and meaning."""

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values; ``meaning`` is left out where it did not count."""
        values = asdict(self)
        return values if self.meaning is not None else {k: v for k, v in values.items() if k != "meaning"}

    def to_columns(self) -> dict[str, Any]:
        """One row per part: a word of the query with the forms that were found, meaning, or a neighbour."""
        rows = [(one.word, "word", _listed(one.forms), one.part) for one in self.words]
        if self.meaning is not None:
            rows.append(("meaning", "meaning", _nearness(self.meaning), self.meaning.part))
        rows += [(str(one.row if one.id is None else one.id), "neighbour", "", one.part) for one in self.neighbours]
        rows += [(word, "in no document", "", 0.0) for word in self.missing]
        return {name: [row[column] for row in rows] for column, name in enumerate(("from", "kind", "found", "part"))}

    def __repr__(self) -> str:
        return f"ScoreExplanation({self.score:.4f}, {len(self.words)} words, {len(self.neighbours)} neighbours)"

    def plot(self, ax: Any = None) -> Any:
        """A bar for each part of the score; on ``ax``, or on a figure that a notebook shows."""
        columns = self.to_columns()
        return bars(columns["from"], columns["part"], ax=ax, label="part", title=f"score {self.score:.4f}")

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, limit: int | None = None, width: int | None = None) -> str:
        """The parts as plain text, a line for each word, cut to ``width``; of more than ``limit`` words, the first."""
        lines = [f"score {self.score:.4f}"]
        for part in self.words[:limit]:
            forms = _listed(part.forms) or "not in this document"
            lines.append(f"{part.part:8.4f}  {part.word}: {forms}")
        if len(rest := self.words[len(lines) - 1 :]):
            lines.append(f"{sum(part.part for part in rest):8.4f}  {len(rest)} more words")
        if self.meaning is not None:
            lines.append(f"{self.meaning.part:8.4f}  meaning: {_nearness(self.meaning)}")
        if self.neighbours:
            names = ", ".join(f"{one.row if one.id is None else one.id} ({one.part:.4f})" for one in self.neighbours)
            lines.append(f"{sum(one.part for one in self.neighbours):8.4f}  neighbours: {names}")
        if self.missing:
            lines.append(f"{0:8.4f}  in no document: {', '.join(self.missing)}")
        return "\n".join(line if width is None or len(line) <= width else line[: width - 1] + "…" for line in lines)


def _listed(forms: Mapping[str, int]) -> str:
    return ", ".join(f"{form} x {count}" for form, count in forms.items())


def _nearness(meaning: MeaningPart) -> str:
    if meaning.cosine is None:
        return "this document has no vector"
    return f"cosine {meaning.cosine:.3f}, of all documents {meaning.mean:.3f} +- {meaning.deviation:.3f}"


def explain_score(
    collection: Ranker, ranking: Ranking, place: int, names: Sequence[str] | None = None
) -> ScoreExplanation:
    """The parts of one score of a ranking; ``names`` are the ids of its neighbours, in their order."""
    row, settings, (floor, slope) = int(ranking.rows[place]), ranking.settings, collection.saturation(ranking.settings)
    forms: dict[int, dict[str, int]] = {word.group: {} for word in ranking.query}
    bag = collection.bags(np.array([row]))
    for number, count in zip(bag.words.tolist(), bag.counts.tolist(), strict=True):
        if (found := forms.get(int(collection.forms.group_of[number]))) is not None:
            found[collection.forms.word(number)] = count
    room = floor + slope * collection.length(row)
    own = 1 - settings.lift if ranking.lifted[place] else 1.0
    words = tuple(_word(word, forms[word.group], settings, room, own) for word in ranking.query)
    neighbours = []
    for number, n in enumerate(neighbours_of(ranking, place)):
        id, share = None if names is None else names[number], float(ranking.shares[place, n])
        score = float(ranking.neighbour_scores[place, n])
        part = settings.lift * share * score
        neighbours.append(NeighbourPart(int(ranking.neighbours[place, n]), id, share, score, part))
    meaning = None
    if (near := ranking.meaning) is not None:
        cosine = float(near.cosines[place])
        known = None if math.isnan(cosine) else cosine
        meaning = MeaningPart(known, near.mean, near.deviation, float(own * near.parts[place]))
    missing = tuple(unmarked(ranking.missing))
    return ScoreExplanation(float(ranking.scores[place]), words, tuple(neighbours), missing, meaning)


def neighbours_of(ranking: Ranking, place: int) -> Int64Array:
    """Which of the neighbours of a row count in its score, in the order of the explanation."""
    near = (ranking.neighbours[place] >= 0) & (ranking.shares[place] > 0) & ranking.lifted[place]
    return np.flatnonzero(near)


def _word(word: QueryWord, forms: dict[str, int], settings: Settings, room: float, own: float) -> WordPart:
    """What a word gives whose forms a document has; ``room`` is by how much its length slows that down."""
    exact = forms.get(word.word, 0)
    tf = exact + settings.stem * (sum(forms.values()) - exact)
    value = tf / (tf + room) if tf > 0 else 0.0
    part = own * word.times * word.idf * (settings.k1 + 1) * value
    ordered = dict(sorted(forms.items(), key=lambda item: (item[0] != word.word, -item[1], item[0])))
    spelled = dict(zip(unmarked(ordered), ordered.values(), strict=True))
    return WordPart(unmarked([word.word])[0], word.times, word.df, spelled, part)
