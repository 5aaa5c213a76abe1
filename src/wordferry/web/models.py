"""What requests and answers look like. A request with a field that is not here is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from wordferry.compare.distances import DISTANCES
from wordferry.web.settings import Limits

EXPLAINED = tuple(d.name for d in DISTANCES.values() if d.overlaps)
"""Distances made of flows between words."""
PAIRED = tuple(d.name for d in DISTANCES.values() if not d.tfidf)
"""Distances of two texts alone; tf-idf needs a collection."""


_LONGEST_KEY = 256
_LONGEST_VALUE = 4_096
_KEY = r'^[^"\\\x00-\x1f]*$'
_WHOLE = BeforeValidator(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value)
"""JSON knows one kind of number: 5.0 is as whole as 5."""


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ErrorAnswer(BaseModel):
    """Every error: one sentence or two that say what was expected, what came, and what to do."""

    error: str


class Hit(BaseModel):
    """One document found."""

    id: str
    distance: float | None = Field(description="Null where it is infinite: a stored document without known words.")
    text: str
    label: str | None = None
    metadata: dict[str, Any]


class SearchResult(BaseModel):
    """The hits of one text, nearest first."""

    hits: list[Hit]
    known_words: int = Field(description="Tokens of the text that have a vector.")
    unknown_words: list[str] = Field(description="Some tokens that have none, and were ignored.")


class SearchAnswer(BaseModel):
    """One result for each text."""

    distance: str
    results: list[SearchResult]


class DistanceAnswer(BaseModel):
    """The distance of two texts by each name asked for."""

    values: dict[str, float]


class Segment(BaseModel):
    """A piece of a text; joined, the pieces are the text."""

    text: str
    words: list[str] = Field(description="The words with a vector that stand in this piece.")


class Side(BaseModel):
    """One of the two texts: its pieces, and the mass of each word."""

    id: str | None
    segments: list[Segment]
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


class DocumentAnswer(BaseModel):
    """A stored document."""

    id: str
    text: str
    label: str | None = None
    metadata: dict[str, Any]


class DocumentPage(BaseModel):
    """Some documents, and the cursor of the next page (null at the end)."""

    documents: list[DocumentAnswer]
    next: str | None


class AddAnswer(BaseModel):
    """The ids of the documents that are now stored, on disk."""

    ids: list[str]


class DeleteAnswer(BaseModel):
    deleted: str


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


def _filter_check(limits: Limits) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Bounds of a filter: its shape, the length of its keys and texts, and how many conditions it has."""

    def scalar(key: str, value: Any) -> int:
        if isinstance(value, str) and len(value) > _LONGEST_VALUE:
            raise ValueError(f"{key}: a text to compare with may have {_LONGEST_VALUE} characters at most")
        if isinstance(value, dict | list):
            raise ValueError(f"{key}: expected a text, number, true, false or null to compare with, got {_kind(value)}")
        return 1

    def terms(key: str, wanted: Any) -> int:
        if len(key) > _LONGEST_KEY:
            raise ValueError(f"the key {key[:20]!r}... has {len(key)} characters; at most {_LONGEST_KEY} are allowed")
        if not isinstance(wanted, dict):
            return scalar(key, wanted)
        values = [one for value in wanted.values() for one in (value if isinstance(value, list) else [value])]
        return sum(scalar(key, value) for value in values)

    def check(filter: dict[str, Any]) -> dict[str, Any]:
        total = sum(terms(key, wanted) for key, wanted in filter.items())
        if total > limits.filter_terms:
            raise ValueError(f"{total} conditions; at most {limits.filter_terms} are allowed")
        return filter

    return check


def _filter_schema() -> WithJsonSchema:
    """What a filter looks like: keys with values, or with operators and their values."""
    scalar = {"anyOf": [{"type": "string", "maxLength": _LONGEST_VALUE}, *_of_types("number", "boolean", "null")]}
    values = {"anyOf": [scalar, {"type": "array", "items": scalar}]}
    rules = {"type": "object", "additionalProperties": values}
    wanted = {"anyOf": [scalar, rules]}
    return WithJsonSchema(
        {"type": "object", "propertyNames": {"maxLength": _LONGEST_KEY}, "additionalProperties": wanted}
    )


def _of_types(*names: str) -> list[dict[str, str]]:
    return [{"type": name} for name in names]


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else "an object"


def request_models(limits: Limits) -> dict[str, type[BaseModel]]:
    """The models of requests; their bounds are the service's limits, so that the OpenAPI page states them."""
    text: Any = Annotated[str, Field(min_length=1, max_length=limits.text_length)]
    identity: Any = Annotated[str, Field(min_length=1, max_length=512)]
    key: Any = Annotated[str, Field(min_length=1, max_length=256, pattern=_KEY)]
    whole: Any = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
    values = {"anyOf": _of_types("string", "number", "boolean", "null")}
    names = {"minLength": 1, "maxLength": 256, "pattern": _KEY}
    described = WithJsonSchema({"type": "object", "propertyNames": names, "additionalProperties": values})
    values_of: Any = dict[key, str | whole | float | bool | None]
    metadata: Any = Annotated[values_of, described, Field(max_length=limits.metadata_keys)]
    filter: Any = Annotated[dict[str, Any], AfterValidator(_filter_check(limits)), _filter_schema()]
    searched: Any = Literal[tuple(DISTANCES)]
    paired: Any = Literal[PAIRED]
    explained: Any = Literal[EXPLAINED]
    batch = Field(min_length=1, max_length=limits.batch)

    def model(name: str, about: str, **fields: Any) -> type[BaseModel]:
        return create_model(name, __base__=_In, __doc__=about, **fields)

    of_text = model("OfText", "A text.", text=(text, ...))
    of_document = model("OfDocument", "A stored document.", id=(identity, ...))
    new: Any = model(
        "NewDocument",
        "A document to store; without an id it gets one.",
        text=(text, ...),
        id=(identity | None, None),
        label=(identity | None, None),
        metadata=(metadata, Field(default_factory=dict)),
    )
    return {
        "search": model(
            "SearchRequest",
            "Texts to search for. They may be joined with the searches of others.",
            texts=(Annotated[list[text], batch], ...),
            k=(Annotated[int, Field(ge=1, le=limits.k), _WHOLE], 10),
            distance=(searched | None, None),
            filter=(filter | None, Field(default=None, description='E.g. {"year": {"gte": 2001}}.')),
        ),
        "distance": model(
            "DistanceRequest",
            "Two texts to compare.",
            a=(text, ...),
            b=(text, ...),
            distances=(Annotated[list[paired], Field(min_length=1, max_length=20)] | None, None),
        ),
        "explain": model(
            "ExplainRequest",
            "Two texts or stored documents, the first of which travels to the second.",
            a=(of_text | of_document, ...),
            b=(of_text | of_document, ...),
            distance=(explained | None, None),
        ),
        "add": model(
            "AddRequest",
            "Documents to store, all or none.",
            documents=(Annotated[list[new], batch], ...),
            replace=(bool, Field(default=False, description="Replace documents whose id is stored already.")),
        ),
    }
