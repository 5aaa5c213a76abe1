"""What requests and answers look like.

A field of a request that is not here is refused; the bounds are the service's limits.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from wordferry.compare.distances import DISTANCES
from wordferry.find.explaining import ScoreExplanation
from wordferry.index.config import RECOMMENDED
from wordferry.texts.weights import WEIGHTS
from wordferry.web.settings import Limits

EXPLAINED = (RECOMMENDED, *(d.name for d in DISTANCES.values() if d.overlaps))
"""Distances made of flows between words."""
PAIRED = (RECOMMENDED, *(d.name for d in DISTANCES.values() if d.needs_vectors or not d.own_weights))
"""Distances of two texts alone; tf-idf needs a collection."""
_LONGEST_KEY = 256
_LONGEST_VALUE = 4_096
_PLAIN = [{"type": name} for name in ("number", "boolean", "null")]
_SCALAR = {"anyOf": [{"type": "string", "maxLength": _LONGEST_VALUE}, *_PLAIN]}
_RULES = {"type": "object", "additionalProperties": {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}}
_WANTED = {"anyOf": [_SCALAR, _RULES]}
_FILTER = WithJsonSchema(
    {"type": "object", "propertyNames": {"maxLength": _LONGEST_KEY}, "additionalProperties": _WANTED}
)
"""What a filter looks like: keys with values, or with operators and their values."""
_KEY = r'^[^"\\\x00-\x1f]*$'
_DISTANCE = "How to compare; null: the index's own distance."
_HERE = {"text": "Obama speaks to the media in Illinois"}
_THERE = {"text": "The president greets the press in Chicago"}
"""Texts of the examples in the description of the service."""
_PASSAGES = "Compare only this many passages of b: those whose words are nearest to a's."
_NAME: Any = Annotated[str, Field(min_length=1, max_length=512)]
_VECTOR: Any = Annotated[list[float], Field(min_length=1, max_length=8_192)]
_WHOLE = BeforeValidator(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value)
"""JSON knows one kind of number: 5.0 is as whole as 5."""


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def request_models(limits: Limits) -> dict[str, type[BaseModel]]:
    """The models of requests, by name."""
    text: Any = Annotated[str, Field(min_length=1, max_length=limits.text_length)]
    given = _model("OfText", "A text.", text=_field(text, "The text itself."))
    stored = _model("OfDocument", "A stored document.", id=_field(_NAME, "The id of the document."))
    one_of_two = given | stored
    return _finding(limits, text, one_of_two) | _comparing(text, one_of_two) | _storing(limits, text)


def _model(name: str, about: str, **fields: Any) -> Any:
    return create_model(name, __base__=_In, __doc__=about, **fields)


def _field(kind: Any, about: str, default: Any = ..., **more: Any) -> Any:
    """A field of a model; one that may be left out has a default, and None is allowed where it is that."""
    return kind | None if default is None else kind, Field(default=default, description=about, **more)


_WEIGHING = {
    "weights": _field(Literal[WEIGHTS], "What words count for; null: the index's own.", None),
    "unknown": _field(Literal["match", "drop"], "Words without a vector; null: the index's own.", None),
}
"""What words weigh, where a stored document is compared."""


def _list_of(kind: Any, most: int) -> Any:
    return Annotated[list[kind], Field(min_length=1, max_length=most)]


def _finding(limits: Limits, text: Any, one_of_two: Any) -> dict[str, type[BaseModel]]:
    """Requests that find documents."""
    filter: Any = Annotated[dict[str, Any], AfterValidator(partial(_check_filter, limits)), _FILTER]
    searched: Any = Literal[(RECOMMENDED, *DISTANCES)]
    hits, first = (Annotated[int, Field(ge=least, le=limits.k), _WHOLE] for least in (1, 0))
    window: dict[str, Any] = {
        "k": _field(hits, "Hits wanted, at most.", 10),
        "offset": _field(first, "Hits to leave out before the first.", 0),
        "filter": _field(filter, 'Conditions on metadata, e.g. {"year": {"gte": 2001}}.', None),
    }
    brought = "The vector of each text, to search by words and meaning; null: the index's encoder makes them, if any."
    texts = _list_of(text, limits.batch)
    return {
        "search": _model(
            "SearchRequest",
            "Texts to find documents by: by their words, or by a distance where one is given.",
            texts=_field(texts, "One result comes for each.", examples=[["volunteers repair old software"]]),
            distance=_field(searched, "Compare by a distance; null: find by words.", None),
            explain=_field(bool, "Say of each score what it is made of.", False),
            vectors=_field(_list_of(_VECTOR, limits.batch), brought, None),
            **_WEIGHING,
            **window,
        ),
        "similar": _model(
            "SimilarRequest",
            "A text or a stored document, and how many documents like it are wanted.",
            like=_field(one_of_two, "What hits are to be like.", examples=[_HERE]),
            distance=_field(searched, _DISTANCE, None),
            by=_field(Literal["words", "meaning"], "Compare words by a distance, or vectors by 1 - cosine.", "words"),
            vector=_field(_VECTOR, "By meaning, the text's vector; null: the index's encoder makes it.", None),
            **_WEIGHING,
            **window,
        ),
    }


def _comparing(text: Any, one_of_two: Any) -> dict[str, type[BaseModel]]:
    """Requests that compare two texts."""
    return {
        "distance": _model(
            "DistanceRequest",
            "Two texts to compare.",
            a=_field(text, "The first text.", examples=[_HERE["text"]]),
            b=_field(text, "The second text.", examples=[_THERE["text"]]),
            distances=_field(_list_of(Literal[PAIRED], 20), "Names of distances; null: the index's own.", None),
        ),
        "explain": _model(
            "ExplainRequest",
            "Two texts or stored documents, the first of which travels to the second.",
            a=_field(one_of_two, "Whose words travel.", examples=[_HERE]),
            b=_field(one_of_two, "Where they travel to.", examples=[_THERE]),
            distance=_field(Literal[EXPLAINED], _DISTANCE, None),
            **_WEIGHING,
            passages=_field(Annotated[int, Field(ge=1, le=20), _WHOLE], _PASSAGES, None),
        ),
    }


def _storing(limits: Limits, text: Any) -> dict[str, type[BaseModel]]:
    """Requests that store documents."""
    key: Any = Annotated[str, Field(min_length=1, max_length=_LONGEST_KEY, pattern=_KEY)]
    whole: Any = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
    described = WithJsonSchema(  # pydantic's own allows every key beside the pattern
        {
            "type": "object",
            "propertyNames": {"minLength": 1, "maxLength": _LONGEST_KEY, "pattern": _KEY},
            "additionalProperties": {"anyOf": [{"type": "string"}, *_PLAIN]},
            "maxProperties": limits.metadata_keys,
        }
    )
    pairs: Any = dict[key, str | whole | float | bool | None]
    metadata: Any = Annotated[pairs, described, Field(max_length=limits.metadata_keys)]
    new: Any = _model(
        "NewDocument",
        "A document to store; without an id it gets one.",
        text=_field(text, "What is searched and compared."),
        id=_field(_NAME, "A name of your own; null: one is made.", None),
        label=_field(_NAME, "Its class, where it has one.", None),
        metadata=(metadata, Field(default_factory=dict, description="Values to filter by.")),
    )
    example = [[{"id": "mine", "text": "My telescope shows Saturn"}]]
    add = _model(
        "AddRequest",
        "Documents to store, all or none.",
        documents=_field(_list_of(new, limits.batch), "What is stored.", examples=example),
        replace=_field(bool, "Replace documents whose id is stored already.", False),
    )
    return {"add": add}


def _check_filter(limits: Limits, filter: dict[str, Any]) -> dict[str, Any]:
    """Bounds of a filter: its shape, the length of its keys and texts, and how many conditions it has."""
    total = 0
    for key, wanted in filter.items():
        if len(key) > _LONGEST_KEY:
            raise ValueError(f"the key {key[:20]!r}... has {len(key)} characters; at most {_LONGEST_KEY} are allowed")
        values = [wanted]
        if isinstance(wanted, dict):
            values = [one for value in wanted.values() for one in (value if isinstance(value, list) else [value])]
        total += len(values)
        for value in values:
            if isinstance(value, str) and len(value) > _LONGEST_VALUE:
                raise ValueError(f"{key}: a text to compare with may have {_LONGEST_VALUE} characters at most")
            if isinstance(value, dict | list):
                kind = "a list" if isinstance(value, list) else "an object"
                raise ValueError(f"{key}: expected a text, number, true, false or null to compare with, got {kind}")
    if total > limits.filter_terms:
        raise ValueError(f"{total} conditions; at most {limits.filter_terms} are allowed")
    return filter


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
