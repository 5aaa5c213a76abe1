"""What requests look like. A field that is not here is refused; the bounds are the service's limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from wordferry.compare.distances import DISTANCES, RECOMMENDED
from wordferry.texts.weights import WEIGHTS
from wordferry.web.models import EXPLAINED, PAIRED
from wordferry.web.settings import Limits

_LONGEST_KEY = 256
_LONGEST_VALUE = 4_096
_KEY = r'^[^"\\\x00-\x1f]*$'
_DISTANCE = "How to compare; null: the index's own distance."
_HERE = {"text": "Obama speaks to the media in Illinois"}
_THERE = {"text": "The president greets the press in Chicago"}
"""Texts of the examples in the description of the service."""
_PASSAGES = "Compare only this many passages of b: those whose words are nearest to a's."
_VECTOR: Any = Annotated[list[float], Field(min_length=1, max_length=8_192)]
_WHOLE = BeforeValidator(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value)
"""JSON knows one kind of number: 5.0 is as whole as 5."""


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def request_models(limits: Limits) -> dict[str, type[BaseModel]]:
    """The models of requests, by name."""
    text: Any = Annotated[str, Field(min_length=1, max_length=limits.text_length)]
    identity: Any = Annotated[str, Field(min_length=1, max_length=512)]
    given = _model("OfText", "A text.", text=(text, Field(description="The text itself.")))
    stored = _model("OfDocument", "A stored document.", id=(identity, Field(description="The id of the document.")))
    one_of_two = given | stored
    return _finding(limits, text, one_of_two) | _comparing(text, one_of_two) | _storing(limits, text, identity)


def _model(name: str, about: str, **fields: Any) -> Any:
    return create_model(name, __base__=_In, __doc__=about, **fields)


def _finding(limits: Limits, text: Any, one_of_two: Any) -> dict[str, type[BaseModel]]:
    """Requests that find documents."""
    filter: Any = Annotated[dict[str, Any], AfterValidator(_filter_check(limits)), _filter_schema()]
    searched: Any = Literal[(RECOMMENDED, *DISTANCES)]
    offset = Annotated[int, Field(ge=0, le=limits.k), _WHOLE]
    window: dict[str, Any] = {
        "k": (
            Annotated[int, Field(ge=1, le=limits.k), _WHOLE],
            Field(default=10, description="Hits wanted, at most."),
        ),
        "offset": (offset, Field(default=0, description="Hits to leave out before the first.")),
        "filter": (
            filter | None,
            Field(default=None, description='Conditions on metadata, e.g. {"year": {"gte": 2001}}.'),
        ),
    }
    return {
        "search": _model(
            "SearchRequest",
            "Texts to find documents by: by their words, or by a distance where one is given.",
            texts=(
                Annotated[list[text], Field(min_length=1, max_length=limits.batch)],
                Field(description="One result comes for each.", examples=[["volunteers repair old software"]]),
            ),
            distance=(searched | None, Field(default=None, description="Compare by a distance; null: find by words.")),
            explain=(bool, Field(default=False, description="Say of each score what it is made of.")),
            vectors=_vectors(limits),
            **_weights(),
            **window,
        ),
        "similar": _model(
            "SimilarRequest",
            "A text or a stored document, and how many documents like it are wanted.",
            like=(one_of_two, Field(description="What hits are to be like.", examples=[_HERE])),
            distance=(searched | None, Field(default=None, description=_DISTANCE)),
            by=(
                Literal["words", "meaning"],
                Field(default="words", description="Compare words by a distance, or vectors by 1 - cosine."),
            ),
            vector=(
                _VECTOR | None,
                Field(default=None, description="By meaning, the text's vector; null: the index's encoder makes it."),
            ),
            **_weights(),
            **window,
        ),
    }


def _vectors(limits: Limits) -> tuple[Any, Any]:
    """A vector for each text of a search."""
    about = "The vector of each text, to search by words and meaning; null: the index's encoder makes them, if any."
    every: Any = Annotated[list[_VECTOR], Field(min_length=1, max_length=limits.batch)]
    return every | None, Field(default=None, description=about)


def _weights() -> dict[str, Any]:
    """What words weigh, where a stored document is compared."""
    weights: Any = Literal[WEIGHTS]
    unknown: Any = Literal["match", "drop"]
    return {
        "weights": (weights | None, Field(default=None, description="What words count for; null: the index's own.")),
        "unknown": (unknown | None, Field(default=None, description="Words without a vector; null: the index's own.")),
    }


def _comparing(text: Any, one_of_two: Any) -> dict[str, type[BaseModel]]:
    """Requests that compare two texts."""
    paired: Any = Literal[PAIRED]
    explained: Any = Literal[EXPLAINED]
    passages: Any = Annotated[int, Field(ge=1, le=20), _WHOLE]
    return {
        "distance": _model(
            "DistanceRequest",
            "Two texts to compare.",
            a=(text, Field(description="The first text.", examples=[_HERE["text"]])),
            b=(text, Field(description="The second text.", examples=[_THERE["text"]])),
            distances=(
                Annotated[list[paired], Field(min_length=1, max_length=20)] | None,
                Field(default=None, description="Names of distances; null: the index's own."),
            ),
        ),
        "explain": _model(
            "ExplainRequest",
            "Two texts or stored documents, the first of which travels to the second.",
            a=(one_of_two, Field(description="Whose words travel.", examples=[_HERE])),
            b=(one_of_two, Field(description="Where they travel to.", examples=[_THERE])),
            distance=(explained | None, Field(default=None, description=_DISTANCE)),
            **_weights(),
            passages=(passages | None, Field(default=None, description=_PASSAGES)),
        ),
    }


def _storing(limits: Limits, text: Any, identity: Any) -> dict[str, type[BaseModel]]:
    """Requests that store documents."""
    key: Any = Annotated[str, Field(min_length=1, max_length=_LONGEST_KEY, pattern=_KEY)]
    whole: Any = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
    names = {"minLength": 1, "maxLength": _LONGEST_KEY, "pattern": _KEY}
    values = {"anyOf": _of_types("string", "number", "boolean", "null")}
    described = WithJsonSchema(
        {
            "type": "object",
            "propertyNames": names,
            "additionalProperties": values,
            "maxProperties": limits.metadata_keys,
        }
    )
    pairs: Any = dict[key, str | whole | float | bool | None]
    new: Any = _model(
        "NewDocument",
        "A document to store; without an id it gets one.",
        text=(text, Field(description="What is searched and compared.")),
        id=(identity | None, Field(default=None, description="A name of your own; null: one is made.")),
        label=(identity | None, Field(default=None, description="Its class, where it has one.")),
        metadata=(
            Annotated[pairs, described, Field(max_length=limits.metadata_keys)],
            Field(default_factory=dict, description="Values to filter by."),
        ),
    )
    add = _model(
        "AddRequest",
        "Documents to store, all or none.",
        documents=(
            Annotated[list[new], Field(min_length=1, max_length=limits.batch)],
            Field(description="What is stored.", examples=[[{"id": "mine", "text": "My telescope shows Saturn"}]]),
        ),
        replace=(bool, Field(default=False, description="Replace documents whose id is stored already.")),
    )
    return {"add": add}


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
