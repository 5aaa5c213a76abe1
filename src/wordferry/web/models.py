"""What answers look like."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wordferry.compare.distances import DISTANCES
from wordferry.find.explaining import ScoreExplanation
from wordferry.index.config import RECOMMENDED

EXPLAINED = (RECOMMENDED, *(d.name for d in DISTANCES.values() if d.overlaps))
"""Distances made of flows between words."""
PAIRED = (RECOMMENDED, *(d.name for d in DISTANCES.values() if d.needs_vectors or not d.own_weights))
"""Distances of two texts alone; tf-idf needs a collection."""


class ErrorAnswer(BaseModel):
    """Every error: one sentence or two that say what was expected, what came, and what to do."""

    error: str


class DocumentAnswer(BaseModel):
    """A stored document."""

    id: str
    text: str
    label: str | None = None
    metadata: dict[str, Any]


class HitAnswer(DocumentAnswer):
    """One document found."""

    score: float | None = Field(default=None, description="Of a search by words: the larger, the better.")
    explanation: ScoreExplanation | None = Field(default=None, description="What the score is made of.")
    distance: float | None = Field(
        default=None, description="Of a comparison: the smaller, the nearer. Null where it is infinite."
    )


class SearchResult(BaseModel):
    """The hits of one text, best or nearest first."""

    hits: list[HitAnswer]
    more: bool = Field(description="Whether there are hits after these.")
    known_words: int | None = Field(default=None, description="Of a comparison: tokens that have a vector.")
    unknown_words: list[str] | None = Field(default=None, description="Some that have none, and were ignored.")
    error: str | None = Field(default=None, description="Why this one of several texts has no answer.")
    missing: list[str] | None = Field(default=None, description="Shards that gave no answer: some hits may be missing.")


class SearchAnswer(BaseModel):
    """One result for each text."""

    distance: str | None = Field(description="Null: by words.")
    results: list[SearchResult]


class SimilarAnswer(SearchResult):
    """The documents most like a text or a stored document, nearest first; the document itself is not among them."""

    distance: str = Field(description="The distance's name, or meaning: 1 - cosine of the vectors.")


class DistanceAnswer(BaseModel):
    """The distance of two texts by each name asked for."""

    values: dict[str, float]


class SegmentAnswer(BaseModel):
    """A piece of a text; joined, the pieces are the text."""

    text: str
    words: list[str] = Field(description="The words with a vector that stand in this piece.")
    compared: bool = Field(description="False outside the passages that were compared.")


class Side(BaseModel):
    """One of the two texts: its pieces, and the mass of each word."""

    id: str | None
    segments: list[SegmentAnswer]
    masses: dict[str, float]


class Flow(BaseModel):
    """Mass that travels from a word of one text to a word of the other, and what that costs."""

    source: str | None = Field(description="A word of the first text; null where none is related.")
    target: str | None = Field(description="A word of the second text; null where none is related.")
    mass: float
    distance: float
    cost: float
    kind: str = Field(description="same: it stays; moved; related; c_max: no related word.")


class ExplainAnswer(BaseModel):
    """A distance and the flows whose costs sum to it."""

    distance: str
    value: float
    direction: str = Field(description="left: the first text's words move; right: the second's; both: no direction.")
    c_max: float | None
    a: Side
    b: Side
    passages: list[tuple[int, int]] | None = Field(description="The passages of b that were compared; null: all of it.")
    flows: list[Flow]


class RelatedWord(BaseModel):
    word: str
    distance: float


class RelatedAnswer(BaseModel):
    """The related words of a word, nearest first, and the distance of all other words."""

    word: str
    r: int
    c_max: float | None
    neighbours: list[RelatedWord]


class FieldValue(BaseModel):
    value: str | int | float | bool | None
    documents: int


class FieldAnswer(BaseModel):
    """A key of the documents' metadata and its most frequent values (none where nearly all differ)."""

    name: str
    documents: int
    values: list[FieldValue]
    least: float | None
    most: float | None


class FieldsAnswer(BaseModel):
    """What documents can be filtered by, the field of most documents first."""

    fields: list[FieldAnswer]


class DocumentPage(BaseModel):
    """Some documents, and the cursor of the next page (null at the end)."""

    documents: list[DocumentAnswer]
    next: str | None


class AddAnswer(BaseModel):
    """The ids of the documents that are now stored, on disk."""

    ids: list[str]


class DeleteAnswer(BaseModel):
    deleted: str


class MapAnswer(BaseModel):
    """How far the map of the documents is."""

    ready: bool
    progress: float = Field(ge=0, le=1)
    documents: int


class StatsAnswer(BaseModel):
    """What the service holds and allows."""

    model_config = ConfigDict(extra="allow")

    documents: int | None = Field(description="Null in the first moments, while they are counted.")
    words: int | None
    distance: str
    distances: list[str] = Field(description="Names that search, distance and explain accept.")
    explained: list[str] = Field(description="Names that explain accepts.")
    writable: bool
    limits: dict[str, float]


class Health(BaseModel):
    status: Literal["ok"]
